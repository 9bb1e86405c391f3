package player

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

// headed is a message with a header.
type headed struct {
	topic    string
	received time.Duration
	stamp    time.Duration // since testBase; a negative one is the zero stamp
}

const headedDefinition = "Header header\n"

// headedBag writes messages whose text is their number.
func headedBag(t *testing.T, o bagfmt.WriterOptions, messages []headed) []byte {
	t.Helper()
	f := &testplay.MemoryFile{}
	w, err := bagfmt.NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	conns := map[string]*bagfmt.Connection{}
	for i, m := range messages {
		if conns[m.topic] == nil {
			header := bagfmt.ConnectionHeader{
				{Key: "callerid", Value: "/n"},
				{Key: "latching", Value: map[bool]string{true: "1", false: "0"}[m.topic == "/latched"]},
				{Key: "md5sum", Value: testplay.StringMD5},
				{Key: "message_definition", Value: headedDefinition},
				{Key: "type", Value: "x_msgs/Headed"},
			}
			if m.topic == "/plain" {
				header[3].Value, header[4].Value = testplay.StringDefinition, testplay.StringType
			}
			if conns[m.topic], err = w.AddConnection(m.topic, header); err != nil {
				t.Fatal(err)
			}
		}
		data := make([]byte, 16)
		if at := testplay.Base.Add(m.stamp); m.stamp >= 0 {
			binary.LittleEndian.PutUint32(data[4:], at.Sec)
			binary.LittleEndian.PutUint32(data[8:], at.Nsec)
		}
		binary.LittleEndian.PutUint32(data[12:], uint32(i))
		if err := w.Write(conns[m.topic], testplay.Base.Add(m.received), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Data
}

// numberOf returns the number of a message of a headedBag.
func numberOf(m *bagfmt.Message) uint32 { return binary.LittleEndian.Uint32(m.Data()[12:]) }

// framed puts the length in front of a payload.
func framed(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// headerData is a header: seq, stamp, frame_id.
func headerData(t bagfmt.Time, frameID string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 7)
	b = binary.LittleEndian.AppendUint32(b, t.Sec)
	b = binary.LittleEndian.AppendUint32(b, t.Nsec)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(frameID))), frameID...)
}
