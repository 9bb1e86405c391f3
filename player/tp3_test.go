package player

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// tfData is a tf2_msgs/TFMessage.
func tfData(stamps ...bagfmt.Time) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(stamps)))
	for i, t := range stamps {
		b = append(b, testplay.HeaderData(t, strings.Repeat("f", i))...)
		b = append(b, testplay.StringData("child")...)
		b = append(b, bytes.Repeat([]byte{byte(i)}, 7*8)...) // translation and rotation
	}
	return b
}

// stampsOfType returns what finds the stamps in messages of a definition, whatever its md5sum.
func stampsOfType(tb testing.TB, definition string) *rosmsg.HeaderStamps {
	tb.Helper()
	typ, err := rosmsg.Parse("a/B", definition)
	if err != nil {
		tb.Fatal(err)
	}
	return typ.HeaderStamps()
}
