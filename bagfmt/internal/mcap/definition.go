package mcap

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

var (
	errCutMetadata  = errors.New("ends inside a field")
	errMuchMetadata = fmt.Errorf("has more than %d fields", maxMetadata)
)

// parseMetadata parses the metadata of a channel.
func parseMetadata(b []byte) (list rosbag.Header, err error) {
	for c := (content{b: b}); len(c.b) > 0; {
		f := rosbag.Field{Key: c.text(), Value: c.text()}
		switch {
		case c.short:
			return nil, errCutMetadata
		case len(list) == maxMetadata:
			return nil, errMuchMetadata
		}
		list = append(list, f)
	}
	return list, nil
}

// ParseSchema parses the content of a schema record. It reports false if anything is missing, or follows
// the fields that are known.
func ParseSchema(b []byte) (s chunk.MCAPSchema, whole bool) {
	c := content{b: b}
	s = chunk.MCAPSchema{ID: c.u16(), Name: c.text(), Encoding: c.text(), Data: c.text()}
	return s, !c.short && len(c.b) == 0
}

// ParseChannel parses the content of a channel record, as ParseSchema does that of a schema.
func ParseChannel(b []byte) (ch chunk.MCAPChannel, whole bool) {
	c := content{b: b}
	ch = chunk.MCAPChannel{ID: c.u16(), Schema: c.u16(), Topic: c.text(), Encoding: c.text()}
	metadata, err := parseMetadata(c.bytes())
	ch.Metadata = metadata
	return ch, err == nil && !c.short && len(c.b) == 0
}
