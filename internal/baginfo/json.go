package baginfo

import (
	"encoding/json"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Times and durations are strings of decimal seconds with nanoseconds: numbers
// would lose digits in most readers. They are null in a bag without messages.
type jsonInfo struct {
	Path        string                `json:"path"`
	Version     string                `json:"version"`
	Duration    *string               `json:"duration"`
	Start       *string               `json:"start"`
	End         *string               `json:"end"`
	Size        int64                 `json:"size"`
	Messages    uint64                `json:"messages"`
	Indexed     bool                  `json:"indexed"`
	Compression map[string]jsonPacked `json:"compression"`
	Chunks      int                   `json:"chunks"`
	Connections []jsonConnection      `json:"connections"`
	Topics      []jsonTopic           `json:"topics"`
}

type jsonPacked struct {
	Chunks       int   `json:"chunks"`
	Uncompressed int64 `json:"uncompressed"`
	Compressed   int64 `json:"compressed"`
}

type jsonConnection struct {
	ID       bagfmt.ConnID `json:"id"`
	Topic    string        `json:"topic"`
	Type     string        `json:"type"`
	MD5Sum   string        `json:"md5sum"`
	CallerID string        `json:"callerid"`
	Latching bool          `json:"latching"`
	Messages uint64        `json:"messages"`
}

type jsonTopic struct {
	Topic       string   `json:"topic"`
	Type        string   `json:"type"`
	MD5Sum      string   `json:"md5sum"`
	Messages    uint64   `json:"messages"`
	Connections int      `json:"connections"`
	Frequency   *float64 `json:"frequency"` // Hz, null if unknown
}

// WriteJSON writes the summary as one line of JSON. Start and end are those of the
// earliest and the latest message, which rosbag info does not tell if chunks are
// not in the order of time.
func (i *Info) WriteJSON(w io.Writer) error {
	out := jsonInfo{
		Path: i.Path, Version: i.Version, Size: i.Size, Messages: i.Messages, Indexed: true,
		Compression: make(map[string]jsonPacked), Chunks: i.Chunks,
		Connections: []jsonConnection{}, Topics: []jsonTopic{},
	}
	if i.Messages > 0 {
		start, end, duration := i.Start.String(), i.End.String(), decimal(i.End.Sub(i.Start))
		out.Start, out.End, out.Duration = &start, &end, &duration
	}
	for _, p := range i.Compression {
		out.Compression[string(p.Name)] = jsonPacked{p.Chunks, p.UncompressedBytes, p.StoredBytes}
	}
	for _, c := range i.Connections {
		out.Connections = append(out.Connections, jsonConnection{
			c.ID, c.Topic, c.Header.Type(), c.Header.MD5Sum(), c.Header.CallerID(), c.Header.Latching(), c.Messages,
		})
	}
	for _, t := range i.Topics {
		jt := jsonTopic{Topic: t.Name, Type: t.Type, MD5Sum: t.MD5Sum, Messages: t.Messages, Connections: t.Connections}
		if t.Frequency > 0 {
			jt.Frequency = &t.Frequency
		}
		out.Topics = append(out.Topics, jt)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}
