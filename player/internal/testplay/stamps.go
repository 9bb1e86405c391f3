package testplay

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// TFData is a tf2_msgs/TFMessage.
func TFData(stamps ...rosbag.Time) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(stamps)))
	for i, t := range stamps {
		b = append(b, HeaderData(t, strings.Repeat("f", i))...)
		b = append(b, StringData("child")...)
		b = append(b, bytes.Repeat([]byte{byte(i)}, 7*8)...) // translation and rotation
	}
	return b
}

// StampsOf returns what finds the stamps in messages of a definition, whatever its md5sum.
func StampsOf(tb testing.TB, definition string) *rosmsg.HeaderStamps {
	tb.Helper()
	typ, err := rosmsg.Parse("a/B", definition)
	if err != nil {
		tb.Fatal(err)
	}
	return typ.HeaderStamps()
}

// TFDefinition returns the definition of tf2_msgs/TFMessage.
func TFDefinition() string {
	definition, _, _ := noetic.Definition("tf2_msgs/TFMessage")
	return definition
}
