package testplay

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Headed is a message with a header.
type Headed struct {
	Topic    string
	Received time.Duration
	Stamp    time.Duration // since Base; a negative one is the zero stamp
}

const headedDefinition = "Header header\n"

// HeadedBag writes messages whose text is their number.
func HeadedBag(t *testing.T, o bagfmt.WriterOptions, messages []Headed) []byte {
	t.Helper()
	f := &MemoryFile{}
	w, err := bagfmt.NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	conns := map[string]*rosbag.Connection{}
	for i, m := range messages {
		if conns[m.Topic] == nil {
			header := rosbag.Header{
				{Key: "callerid", Value: "/n"},
				{Key: "latching", Value: map[bool]string{true: "1", false: "0"}[m.Topic == "/latched"]},
				{Key: "md5sum", Value: StringMD5},
				{Key: "message_definition", Value: headedDefinition},
				{Key: "type", Value: "x_msgs/Headed"},
			}
			if m.Topic == "/plain" {
				header[3].Value, header[4].Value = StringDefinition, StringType
			}
			if conns[m.Topic], err = w.AddConnection(m.Topic, header); err != nil {
				t.Fatal(err)
			}
		}
		data := make([]byte, 16)
		if at := Base.Add(m.Stamp); m.Stamp >= 0 {
			binary.LittleEndian.PutUint32(data[4:], at.Sec)
			binary.LittleEndian.PutUint32(data[8:], at.Nsec)
		}
		binary.LittleEndian.PutUint32(data[12:], uint32(i))
		if err := w.Write(conns[m.Topic], Base.Add(m.Received), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Data
}

// NumberOf returns the number of a message of a headedBag.
func NumberOf(m *rosbag.Message) uint32 { return binary.LittleEndian.Uint32(m.Data()[12:]) }

// Framed puts the length in front of a payload.
func Framed(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// HeaderData is a header: seq, stamp, frame_id.
func HeaderData(t rosbag.Time, frameID string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 7)
	b = binary.LittleEndian.AppendUint32(b, t.Sec)
	b = binary.LittleEndian.AppendUint32(b, t.Nsec)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(frameID))), frameID...)
}
