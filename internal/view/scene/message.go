package scene

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// message is a payload with its type. It keeps the first error, so that its fields can be read in a row.
type message struct {
	t       *rosmsg.Type
	payload []byte
	err     error
}

func (m *message) has(path string) bool {
	_, err := m.t.Path(path)
	return err == nil
}

// field returns the field at a path; a Value without a kind if an error came.
func (m *message) field(path string) rosmsg.Value {
	if m.err != nil {
		return rosmsg.Value{}
	}
	v, err := m.t.Lookup(m.payload, path)
	m.err = err
	return v
}

func (m *message) number(path string) float64 { return m.field(path).Float() }
func (m *message) integer(path string) int64  { return m.field(path).Int() }

// maxText is how much of a text is shown, in bytes.
const maxText = 1 << 10

func (m *message) text(path string) string { return cut(m.field(path)) }

// cut returns a text that is not too long.
func cut(v rosmsg.Value) string {
	b := v.Bytes()
	if len(b) <= maxText {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return strings.ToValidUTF8(string(b[:maxText]), "") + "…"
}

// float32s returns an array of float32.
type float32s []byte

func (f float32s) len() int { return len(f) / 4 }
func (f float32s) at(i int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(f[4*i:])))
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
