package info

import (
	"io"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// jsonInfo is the summary as JSON. Times and durations are strings of package wording. They are null if there
// are no messages.
type jsonInfo struct {
	Path     string  `json:"path"`
	Version  string  `json:"version"`
	Duration *string `json:"duration"`
	Start    *string `json:"start"`
	End      *string `json:"end"`
	Size     int64   `json:"size"`
	Messages uint64  `json:"messages"`
	// latched messages at the beginning
	Repeated   uint32 `json:"repeated_count,omitempty"`
	RepeatedAt string `json:"repeated_time,omitempty"`
	Indexed    bool   `json:"indexed"`
	// times count from the start of the recording
	Elapsed     bool                                  `json:"elapsed,omitempty"`
	Compression map[rosbag.Compression]CompressionSum `json:"compression"`
	Encryption  *jsonEncryption                       `json:"encryption,omitempty"`
	MCAP        *jsonMCAP                             `json:"mcap,omitempty"`
	Chunks      int                                   `json:"chunks"`
	// compression, frequency, bytes and gaps are estimates from so many
	Sampled     int              `json:"sampled_chunks,omitempty"`
	Connections []jsonConnection `json:"connections"`
	Topics      []jsonTopic      `json:"topics"`
	Notes       []note.Note      `json:"notes"`
	// the first 10,000
	Marks []jsonMark `json:"marks"`
	// beyond those
	MoreMarks uint64 `json:"more_marks,omitempty"`
}

type jsonMark struct {
	Time string `json:"time"`
	Text string `json:"text"`
}

type jsonEncryption struct {
	Encryptor string `json:"encryptor"`
	User      string `json:"gpg_user"`
}

type jsonMCAP struct {
	Profile     string           `json:"profile"`
	Library     string           `json:"library"`
	Attachments []jsonAttachment `json:"attachments"`
	Metadata    []jsonMetadata   `json:"metadata"`
}

type jsonAttachment struct {
	Name  string `json:"name"`
	Type  string `json:"media_type"`
	Bytes int64  `json:"bytes"`
}

type jsonMetadata struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // of the content of its record
}

// newJSONMCAP returns m as JSON; nil if m is nil.
func newJSONMCAP(m *rosbag.MCAPInfo) *jsonMCAP {
	if m == nil {
		return nil
	}
	out := &jsonMCAP{
		Profile: m.Profile, Library: m.Library, Attachments: []jsonAttachment{},
		Metadata: []jsonMetadata{},
	}
	for _, x := range m.Attachments {
		out.Attachments = append(out.Attachments, jsonAttachment{x.Name, x.Type, x.Bytes})
	}
	for _, x := range m.Metadata {
		out.Metadata = append(out.Metadata, jsonMetadata{x.Name, x.Bytes})
	}
	return out
}

type jsonConnection struct {
	ID       rosbag.ConnID `json:"id"`
	Topic    string        `json:"topic"`
	Type     string        `json:"type"`
	MD5Sum   string        `json:"md5sum"`
	CallerID string        `json:"callerid"`
	Latching bool          `json:"latching"`
	Messages uint64        `json:"messages"`
	Bytes    *uint64       `json:"bytes,omitempty"` // with details, as each omitempty of topics
}

type jsonTopic struct {
	Topic       string   `json:"topic"`
	Type        string   `json:"type"`
	MD5Sum      string   `json:"md5sum"`
	Messages    uint64   `json:"messages"`
	Connections int      `json:"connections"`
	Frequency   *float64 `json:"frequency"` // Hz, null if unknown
	Bytes       *uint64  `json:"bytes,omitempty"`
	LongestGap  string   `json:"longest_gap,omitempty"`
	GapStart    string   `json:"longest_gap_start,omitempty"`
	Gaps        *int     `json:"gaps,omitempty"` // silences of more than 5 median periods
}

// WriteJSON writes the summary as one line of JSON. Start and end are the times of the earliest and the
// latest message. Those that rosbag info shows differ if chunks are not in the order of time.
func (i *Info) WriteJSON(w io.Writer) error {
	out := jsonInfo{
		Path: i.Path, Version: i.Version, Size: i.Size, Messages: i.Messages, Indexed: i.Indexed,
		Elapsed:     i.Elapsed,
		Compression: make(map[rosbag.Compression]CompressionSum), Chunks: i.Chunks, Sampled: i.Sampled,
		Connections: []jsonConnection{}, Topics: []jsonTopic{}, Notes: append([]note.Note{}, i.Notes...),
		Marks: []jsonMark{}, MoreMarks: i.More,
	}
	for _, m := range i.Marks {
		out.Marks = append(out.Marks, jsonMark{wording.DecimalTime(m.Time), m.Text})
	}
	if i.Messages > 0 {
		start, end, duration := wording.DecimalTime(i.Start), wording.DecimalTime(i.End),
			wording.DecimalDuration(i.End.Sub(i.Start))
		out.Start, out.End, out.Duration = &start, &end, &duration
	}
	if r := i.Repeated; r.Count > 0 {
		out.Repeated, out.RepeatedAt = r.Count, wording.DecimalTime(r.Time)
	}
	if e := i.Encryption; e != nil {
		out.Encryption = &jsonEncryption{e.Encryptor, e.User}
	}
	out.MCAP = newJSONMCAP(i.MCAP)
	for _, p := range i.Compression {
		out.Compression[p.Name] = p
	}
	for n := range i.Connections {
		c := &i.Connections[n]
		jc := jsonConnection{
			ID: c.ID, Topic: c.Topic, Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(),
			CallerID: c.Header.CallerID(), Latching: c.Header.Latching(), Messages: c.Messages,
		}
		if i.Detailed {
			jc.Bytes = &c.Bytes
		}
		out.Connections = append(out.Connections, jc)
	}
	for n := range i.Topics {
		t := &i.Topics[n]
		jt := jsonTopic{
			Topic: t.Name, Type: t.Type, MD5Sum: t.MD5Sum, Messages: t.Messages,
			Connections: t.Connections,
		}
		if t.Frequency > 0 {
			jt.Frequency = &t.Frequency
		}
		if i.Detailed {
			jt.Bytes = &t.Bytes
			if i.Sampled == 0 {
				jt.Gaps = &t.Gaps
			}
			if t.LongestGap > 0 {
				jt.LongestGap, jt.GapStart = wording.DecimalDuration(t.LongestGap),
					wording.DecimalTime(t.GapAt)
			}
		}
		out.Topics = append(out.Topics, jt)
	}
	return wording.WriteEscapedJSON(w, out)
}
