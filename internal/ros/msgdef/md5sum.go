package msgdef

import (
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// WithMD5Sum returns a connection header, changed in place or grown, in which an md5sum that is missing
// or empty is that of the definition, if this is a good one: players need it, and some recorders leave it
// out.
func WithMD5Sum(h rosbag.Header) rosbag.Header {
	definition := h.MessageDefinition()
	if h.MD5Sum() != "" || definition == "" {
		return h
	}
	t, err := rosmsg.Parse(h.Type(), definition)
	if err != nil {
		return h
	}
	if i := slices.IndexFunc(h, func(f rosbag.Field) bool { return f.Key == rosbag.KeyMD5Sum }); i >= 0 {
		h[i].Value = t.MD5Sum()
		return h
	}
	return append(h, rosbag.Field{Key: rosbag.KeyMD5Sum, Value: t.MD5Sum()})
}
