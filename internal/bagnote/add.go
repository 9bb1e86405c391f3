package bagnote

import (
	"github.com/gorosbag/gorosbag/bagfmt"
)

// header is the connection header of notes that are added to a finished bag.
func header() bagfmt.ConnectionHeader {
	return bagfmt.ConnectionHeader{
		{Key: "callerid", Value: "/gobag"},
		{Key: "latching", Value: "1"},
		{Key: "md5sum", Value: MD5Sum},
		{Key: "message_definition", Value: Definition},
		{Key: "topic", Value: NotesTopic},
		{Key: "type", Value: Type},
	}
}

// Additions returns the messages that add notes to a finished bag, for bagfmt.Amend. now is
// the time of a bag without messages.
//
// There is a message at the start, so that whatever is cut from the bag, and whoever subscribes
// when it is played, has the notes; and the same at the end, behind what others have said of
// the same keys meanwhile. rosbag info takes the end of the last chunk for that of the bag, so
// the bag does not seem to be longer or shorter. Where the latest notes of the bag are plain,
// the messages have those, too, and come from the same publisher, because a latched message
// takes the place of the one before.
func Additions(r *bagfmt.Reader, notes []Note, now bagfmt.Time) ([]bagfmt.Addition, error) {
	add := bagfmt.Addition{Topic: NotesTopic, Header: header(), Time: now}
	t := textsOn(r, NotesTopic)
	var last *bagfmt.Message
	err := t.latest(r, func(m *bagfmt.Message) { last = m }, func(err error) error { return err })
	if err != nil {
		return nil, err
	}
	if last != nil && last.Conn.Header.Latching() {
		if text, ok := textOf(last); ok {
			if there, plain := FromText(text); plain {
				notes = Merge(there, notes...)
				add.Header = last.Conn.Header
			}
		}
	}
	if err := Check(notes); err != nil {
		return nil, err
	}
	add.Data = Encode(Text(notes))
	if r.Messages() == 0 {
		return []bagfmt.Addition{add}, nil
	}
	first := add
	first.Time, add.Time = r.Start(), r.End()
	if first.Time == add.Time {
		return []bagfmt.Addition{add}, nil
	}
	return []bagfmt.Addition{first, add}, nil
}
