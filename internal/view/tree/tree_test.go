package tree_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/tree"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func parse(t testing.TB, definition string) *rosmsg.Type {
	t.Helper()
	typ, err := rosmsg.Parse("test/T", definition)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// sep is between the types of a definition.
var sep = strings.Repeat("=", 80) + "\n"

// payload writes payloads.
type payload []byte

func (p payload) u32(v int) payload { return binary.LittleEndian.AppendUint32(p, uint32(v)) }
func (p payload) text(s string) payload {
	return append(p.u32(len(s)), s...)
}

// lines returns a tree as text.
func lines(n tree.Node, indent string) string {
	s := fmt.Sprintf("%s%s %s %q", indent, n.Name, n.Path, n.Text)
	if n.Cut > 0 {
		s += fmt.Sprintf(" of %d bytes", n.Cut)
	}
	if n.Len != nil {
		s += fmt.Sprintf(" %d elements from %d", *n.Len, n.From)
	}
	if n.Note != "" {
		s += " (" + n.Note + ")"
	}
	s += "\n"
	for _, c := range n.Nodes {
		s += lines(c, indent+" ")
	}
	return s
}

func TestTree(t *testing.T) {
	t.Parallel()
	typ := parse(t, "string[] name\nfloat32[] position\nuint8[] data\nstring text\ntime stamp\ngeometry_msgs/Quaternion q\n"+sep+"MSG: geometry_msgs/Quaternion\nfloat64 x\n")
	p := payload(nil).u32(2).text("a").text("b{}").u32(2).u32(0x3f800000).u32(0).u32(3)
	p = append(p, 1, 2, 255)
	p = append(p.text("<b>\xff").u32(5).u32(6), make([]byte, 8)...)
	n, err := tree.Make(typ, p, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := `  ""
 name name "" 2 elements from 0
  0 name[0] "a"
  1 name[1] "b{}"
 position position "" 2 elements from 0
  0 a position{a} "1"
  1 b{} position[1] "0"
 data data "0102ff" 3 elements from 0
 text text "<b>` + "\uFFFD" + `"
 stamp stamp "5.000000006"
 q q ""
  x q.x "0"
  yaw q:yaw ""
`
	if diff := cmp.Diff(want, lines(n, "")); diff != "" {
		t.Error(diff)
	}
	if n, err = tree.Make(typ, p, "data", 1); err != nil || len(n.Nodes) != 2 || n.Nodes[0].Path != "data[1]" || n.Nodes[1].Text != "255" {
		t.Errorf("a page of bytes: %+v, %v", n, err)
	}
	n, err = tree.Make(typ, p[:len(p)-12], "", 0)
	if err == nil || !strings.Contains(lines(n, ""), "the payload ends here") || len(n.Nodes) != 4 {
		t.Errorf("a short payload: %v\n%s", err, lines(n, ""))
	}
}

// TestYaw: a quaternion has a yaw, in degrees.
func TestYaw(t *testing.T) {
	t.Parallel()
	typ := parse(t, "geometry_msgs/Quaternion q\n"+sep+"MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n")
	for want, zw := range map[string][2]float64{"0": {0, 1}, "90": {math.Sqrt2 / 2, math.Sqrt2 / 2}, "-90": {-math.Sqrt2 / 2, math.Sqrt2 / 2}} {
		p := make([]byte, 16, 32)
		for _, v := range zw {
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(v))
		}
		n, err := tree.Make(typ, p, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if yaw := n.Nodes[0].Nodes[4]; yaw.Name != "yaw" || yaw.Text != want {
			t.Errorf("%v: %+v, want %s", zw, yaw, want)
		}
	}
}

// TestLimits: what is large comes in parts, and says so.
func TestLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	typ := parse(t, "int32[] numbers\nstring text\ntest/P[] points\n"+sep+"MSG: test/P\nint32 x\n")
	p := payload(nil).u32(1_100_000)
	p = append(p, make([]byte, 4_400_000)...).text(long).u32(1000)
	p = append(p, make([]byte, 4000)...)
	n, err := tree.Make(typ, p, "", 0)
	if err != nil || *n.Nodes[0].Len != 1_100_000 || len(n.Nodes[0].Nodes) != 20 || n.Nodes[1].Cut != 100_000 || len(n.Nodes[1].Text) != 2048 || len(n.Nodes[2].Nodes) != 5 {
		t.Errorf("%v\n%.2000s", err, lines(n, ""))
	}
	n, err = tree.Make(typ, p, "numbers", 1_099_950)
	if err != nil || len(n.Nodes) != 50 || n.From != 1_099_950 {
		t.Errorf("%v\n%.2000s", err, lines(n, ""))
	}
	if n, err = tree.Make(typ, p, "text", 0); err != nil || len(n.Text) != 64<<10 {
		t.Errorf("%d bytes of text, %v", len(n.Text), err)
	}
	if _, err := tree.JSON(typ, p); err == nil {
		t.Error("a message of 4 MB was copied")
	}
	var definition strings.Builder
	definition.WriteString("test/L1 l1\n")
	for i := 1; i < 50; i++ {
		fmt.Fprintf(&definition, "%sMSG: test/L%d\ntest/L%d l\n", sep, i, i+1)
	}
	definition.WriteString("" + sep + "MSG: test/L50\nint32 x\n")
	if n, err = tree.Make(parse(t, definition.String()), make([]byte, 4), "", 0); err != nil || !strings.Contains(lines(n, ""), "deeper than 32 levels") {
		t.Errorf("%v\n%s", err, lines(n, ""))
	}
	fields := ""
	for i := range 10_000 {
		fields += fmt.Sprintf("int32 f%d\n", i)
	}
	if n, err = tree.Make(parse(t, fields), make([]byte, 40_000), "", 0); err != nil || len(n.Nodes) > tree.MaxNodes || n.Note == "" {
		t.Errorf("%d nodes, %q, %v", len(n.Nodes), n.Note, err)
	}
}

// FuzzTree makes trees of any bytes.
func FuzzTree(f *testing.F) {
	typ := parse(f, "string[] name\nfloat32[] position\nuint8[] data\nbool[] flags\ntest/P[] points\n"+sep+"MSG: test/P\nint32 x\nstring s\n")
	f.Add("", 0, []byte(payload(nil).u32(1).text("a").u32(0).u32(1)))
	f.Add("points[0].s", 3, []byte{})
	f.Fuzz(func(t *testing.T, path string, from int, b []byte) {
		n, err := tree.Make(typ, b, path, from)
		count := 0
		var walk func(tree.Node)
		walk = func(n tree.Node) {
			count++
			for _, c := range n.Nodes {
				walk(c)
			}
		}
		walk(n)
		if count > tree.MaxNodes+tree.PageSize {
			t.Errorf("%d nodes, %v", count, err)
		}
	})
}
