package note

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// header returns the connection header of notes that gobag adds.
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

// Add adds notes to the finished bag of size bytes in f, which needs a good index. If the process dies, the
// bag is the old or the new one. A bag without messages gets the notes at the time now; any other gets the
// same latched message twice:
//
//   - at its start, so that each part that is cut from the bag has the notes, as has each subscriber when the
//     bag is played;
//   - at its end, because the latest of several notes with the same key counts; not later, because rosbag
//     info takes the end of the last chunk for that of the bag.
//
// If the latest notes of the bag are a latched message that has nothing else, the new messages repeat them,
// and are of the same publisher: they take its place.
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
		if err == nil {
			err = w.Write(m.Conn, m.Time, m.Data())
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		w.Abort()
	}
	return err
}

// additions returns the messages that Add writes, in the order of time.
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
