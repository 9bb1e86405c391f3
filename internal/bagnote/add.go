package bagnote

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// header is the connection header of notes that are added to a finished bag.
func header() rosbag.Header {
	return rosbag.Header{
		{Key: "callerid", Value: "/gobag"},
		{Key: "latching", Value: "1"},
		{Key: "md5sum", Value: MD5Sum},
		{Key: "message_definition", Value: Definition},
		{Key: "topic", Value: NotesTopic},
		{Key: "type", Value: Type},
	}
}

// Add adds notes to the finished bag of size bytes in f, which needs a good index. Whatever happens
// meanwhile, the bag is the old or the new one. now is the time of a bag without messages.
//
// There is a message at the start, so that whatever is cut from the bag, and whoever subscribes
// when it is played, has the notes; and the same at the end, behind what others have said of
// the same keys meanwhile. rosbag info takes the end of the last chunk for that of the bag, so
// the bag does not seem to be longer or shorter. Where the latest notes of the bag are plain,
// the messages have those, too, and come from the same publisher, because a latched message
// takes the place of the one before.
func Add(f bagfmt.File, size int64, notes []Note, now rosbag.Time) error {
	r, err := bagfmt.NewReader(f, size, bagfmt.ReaderOptions{IndexOnly: true})
	if err != nil {
		return err
	}
	add, err := additions(r, notes, now)
	if err != nil {
		return err
	}
	w, err := bagfmt.Append(f, size, bagfmt.WriterOptions{})
	if err != nil {
		return err
	}
	for _, m := range add {
		if err := w.Write(m.Conn, m.Time, m.Data()); err != nil {
			w.Abort()
			return err
		}
	}
	if err := w.Close(); err != nil {
		w.Abort()
		return err
	}
	return nil
}

// additions returns the messages that add notes to a finished bag, of a new connection, which may be
// earlier than what is there.
func additions(r *bagfmt.Reader, notes []Note, now rosbag.Time) ([]*rosbag.Message, error) {
	conn := &rosbag.Connection{Topic: NotesTopic, Header: header()}
	t := textsOn(r, NotesTopic)
	var last *rosbag.Message
	err := t.latest(r, func(m *rosbag.Message) { last = m }, func(err error) error { return err })
	if err != nil {
		return nil, err
	}
	if last != nil && last.Conn.Header.Latching() {
		if text, ok := textOf(last); ok {
			if there, plain := FromText(text); plain {
				notes = Merge(there, notes...)
				conn.Header = last.Conn.Header
			}
		}
	}
	if err := Check(notes); err != nil {
		return nil, err
	}
	data := Encode(Text(notes))
	frame := append(binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data...)
	info := r.Info()
	times := []rosbag.Time{info.Start, info.End}
	if info.Messages == 0 {
		times = []rosbag.Time{now}
	} else if info.Start == info.End {
		times = times[:1]
	}
	var add []*rosbag.Message
	for _, t := range times {
		add = append(add, &rosbag.Message{Conn: conn, Time: t, Frame: frame})
	}
	return add, nil
}
