package rosmsg_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosmsg"
)

var separator = "\n" + strings.Repeat("=", 80) + "\n"

const headerText = "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

// bent are ways to write a definition of p/T with one field "p/U u" that other libraries have, and ROS does not.
var bent = map[string]string{
	"empty line after the separator":     "U u" + separator + "\n \nMSG: p/U\nint8 a",
	"short separator":                    "U u\n===\nMSG: p/U\nint8 a",
	"long separator":                     "U u\n" + strings.Repeat("=", 81) + "\nMSG: p/U\nint8 a",
	"no line break before the separator": "U u" + strings.TrimPrefix(separator, "\n") + "\nMSG: p/U\nint8 a",
	"two separators":                     "U u" + separator + separator + "MSG: p/U\nint8 a",
	"NUL at the end":                     "U u" + separator + "MSG: p/U\nint8 a\x00",
	"byte order marks":                   "\ufeffU u" + separator + "MSG: p/U\n\ufeffint8 a",
	"NUL after each part":                "U u\x00" + separator + "MSG: p/U\nint8 a\x00\x00",
	"everything with CRLF":               "\ufeffU u\r\n====\r\n\r\nMSG: p/U\r\nint8 a\r\n\x00",
}

func TestBentDefinitions(t *testing.T) {
	t.Parallel()
	straight, err := rosmsg.Parse("p/T", "U u"+separator+"MSG: p/U\nint8 a")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range bent {
		typ, err := rosmsg.Parse("p/T", text)
		if err != nil || typ.MD5Sum() != straight.MD5Sum() {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := rosmsg.Straight("p/T", text); err != nil || got != "U u"+separator+"MSG: p/U\nint8 a" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	asROS := "# ====\nU u #===\n" + separator + "MSG: p/U\nint8 a\n"
	if got, err := rosmsg.Straight("p/T", asROS); err != nil || got != asROS {
		t.Errorf("what ROS writes becomes %q, %v", got, err)
	}
	typ, err := rosmsg.Parse("p/T", "string S="+strings.TrimSpace(separator)+"\nint8 a")
	if err != nil || len(typ.Constants()) != 1 || len(typ.Fields()) != 1 {
		t.Errorf("a constant of '=' is a separator: %v", err)
	}
}

// TestParseWith takes types that the definition lacks from elsewhere.
func TestParseWith(t *testing.T) {
	t.Parallel()
	var asked []string
	known := func(name string) (string, bool) {
		asked = append(asked, name)
		text, ok := map[string]string{"std_msgs/Header": "uint32 seq\ntime stamp\nstring frame_id", "q/V": "W w", "q/W": "int8 a"}[name]
		return text, ok
	}
	typ, err := rosmsg.ParseWith("p/T", "Header h\nq/V v\nU u\nq/V again"+separator+"MSG: p/U\nint8 a", known)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"std_msgs/Header h", "q/V v", "p/U u", "q/V again"}, fieldsOf(typ)); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"std_msgs/Header", "q/V", "q/W"}, asked); d != "" {
		t.Errorf("asked for (-want +got):\n%s", d)
	}
	if _, err := rosmsg.ParseWith("p/T", "int8 a\nq/X x", known); err == nil || err.Error() != `definition of "p/T": line 2: no definition of "q/X"` {
		t.Errorf("%v", err)
	}
}

// fieldsOf lists the fields of a type as "type name".
func fieldsOf(t *rosmsg.Type) []string {
	var all []string
	for _, f := range t.Fields() {
		all = append(all, f.Type+" "+f.Name)
	}
	return all
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, typ, text string
		want            []string
	}{
		{"empty", "std_msgs/Empty", "", nil},
		{"comments", "p/T", "# a\n\nint32 a # b\n#int32 c\n  # d", []string{"int32 a"}},
		{"spaces and tabs", "p/T", " int32\ta\t\n\tfloat64   b ", []string{"int32 a", "float64 b"}},
		{"CRLF", "p/T", "int32 a\r\nstring b\r\n", []string{"int32 a", "string b"}},
		{"arrays", "p/T", "int8[] a\nchar[3] b\nstring[0] c", []string{"int8[] a", "char[3] b", "string[0] c"}},
		{"header", "p/T", "Header h" + separator + headerText, []string{"std_msgs/Header h"}},
		{"old header", "p/T", "roslib/Header a\nHeader b" + separator + strings.Replace(headerText, "std_msgs", "roslib", 1), []string{"std_msgs/Header a", "std_msgs/Header b"}},
		{"headers", "p/T", "Header[] h" + separator + headerText, []string{"std_msgs/Header[] h"}},
		{"same package", "p/T", "U u\nU[2] v" + separator + "MSG: p/U\nint8 a", []string{"p/U u", "p/U[2] v"}},
		{"own package first", "p/T", "U u" + separator + "MSG: q/U\nint8 a" + separator + "MSG: p/U\nint8 a", []string{"p/U u"}},
		{"package left out", "p/T", "U u" + separator + "MSG: q/U\nint8 a", []string{"q/U u"}},
		{"no package", "T", "U u" + separator + "MSG: U\nint8 a", []string{"U u"}},
		{"CRLF everywhere", "p/T", strings.ReplaceAll("U u"+separator+"MSG: p/U\nint8 a", "\n", "\r\n"), []string{"p/U u"}},
		{"block twice", "p/T", "U u" + separator + "MSG: p/U\nwrong" + separator + "MSG: p/U\nint8 a", []string{"p/U u"}},
		{"block that no field can name", "p/T", "U u" + separator + "MSG: q[]/U\nwrong" + separator + "MSG: r/U\nint8 a", []string{"r/U u"}},
		{"block not used", "p/T", "int8 a" + separator + "MSG: p/U\nwrong", []string{"int8 a"}},
		{"name of a constant", "p/T", "int8 a=1\nint8 a", []string{"int8 a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			typ, err := rosmsg.Parse(test.typ, test.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, fieldsOf(typ)); d != "" {
				t.Errorf("fields (-want +got):\n%s", d)
			}
		})
	}
}

func TestConstants(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse("p/T", `int32 A=5 # five
uint8   B  =  255
string S=  a # b "c"
string EMPTY=
string TWO=a=b
float32 F=1e3
bool YES=True
bool HEX=0x1
char C=65
byte D=-1
  string INDENTED=x
int64 SPACED=1_000
int8 ZEROS=000000000000000000000000000000000000000007
uint8 NONE=-0`)
	if err != nil {
		t.Fatal(err)
	}
	want := []rosmsg.Constant{
		{Type: "int32", Name: "A", Value: "5"},
		{Type: "uint8", Name: "B", Value: "255"},
		{Type: "string", Name: "S", Value: `a # b "c"`},
		{Type: "string", Name: "EMPTY"},
		{Type: "string", Name: "TWO", Value: "a=b"},
		{Type: "float32", Name: "F", Value: "1e3"},
		{Type: "bool", Name: "YES", Value: "True"},
		{Type: "bool", Name: "HEX", Value: "0x1"},
		{Type: "char", Name: "C", Value: "65"},
		{Type: "byte", Name: "D", Value: "-1"},
		{Type: "string", Name: "string INDENTED", Value: "x"}, // as genmsg: the md5sum depends on it
		{Type: "int64", Name: "SPACED", Value: "1_000"},
		{Type: "int8", Name: "ZEROS", Value: "000000000000000000000000000000000000000007"},
		{Type: "uint8", Name: "NONE", Value: "-0"},
	}
	if d := cmp.Diff(want, typ.Constants()); d != "" {
		t.Errorf("constants (-want +got):\n%s", d)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	deep := "T0 a"
	for i := range 70 {
		deep += separator + fmt.Sprintf("MSG: p/T%d\nT%d a", i, i+1)
	}
	wide := ""
	for i := range 1100 {
		wide += fmt.Sprintf("T%d a%d\n", i, i)
	}
	for i := range 1100 {
		wide += separator + fmt.Sprintf("MSG: p/T%d\nint8 a", i)
	}
	doubled := "T0 a"
	for i := range 60 {
		doubled += separator + fmt.Sprintf("MSG: p/T%d\nT%d a\nT%d b", i, i+1, i+1)
	}
	doubled += separator + "MSG: p/T60\nint64 a"
	for _, test := range []struct {
		name, text string
		line       int
		want       error
	}{
		{"one word", "int32", 1, rosmsg.ErrDefinition},
		{"three words", "\nint32 a b", 2, rosmsg.ErrDefinition},
		{"name", "int32 1a", 1, rosmsg.ErrDefinition},
		{"name of underscore", "int32 _a", 1, rosmsg.ErrDefinition},
		{"type", "int-32 a", 1, rosmsg.ErrDefinition},
		{"unknown type", "int8 a\nFoo b", 2, rosmsg.ErrDefinition},
		{"unknown type inside", "U u" + separator + "MSG: p/U\nint8 a\n\nq/V v", 6, rosmsg.ErrDefinition},
		{"block of an array", "U u" + separator + "MSG: p[] q/U\nint8 a", 1, rosmsg.ErrDefinition},
		{"block of brackets", "U u" + separator + "MSG: q[3]/U\nint8 a", 1, rosmsg.ErrDefinition},
		{"ambiguous", "U u" + separator + "MSG: q/U\nint8 a" + separator + "MSG: r/U\nint8 a", 1, rosmsg.ErrDefinition},
		{"field twice", "int8 a\nint16 a", 2, rosmsg.ErrDefinition},
		{"array of arrays", "int8[][] a", 1, rosmsg.ErrDefinition},
		{"array open", "int8[3 a", 1, rosmsg.ErrDefinition},
		{"array of minus one", "int8[-1] a", 1, rosmsg.ErrDefinition},
		{"array too long", "int8[99999999999999999999] a", 1, rosmsg.ErrLimit},
		{"array long", "int8[16777217] a", 1, rosmsg.ErrLimit},
		{"message too long", "U[16777216] a" + separator + "MSG: p/U\nint64[1000] b", 1, rosmsg.ErrLimit},
		{"doubled", doubled, 0, rosmsg.ErrLimit},
		{"itself", "T t", 1, rosmsg.ErrDefinition},
		{"circle", "U u" + separator + "MSG: p/U\nV v" + separator + "MSG: p/V\nU[] u", 7, rosmsg.ErrDefinition},
		{"deep", deep, 0, rosmsg.ErrLimit},
		{"wide", wide, 0, rosmsg.ErrLimit},
		{"long", strings.Repeat("#", 1<<20+1), 0, rosmsg.ErrLimit},
		{"name too long", "int8 " + strings.Repeat("a", 257), 1, rosmsg.ErrLimit},
		{"no MSG", "int8 a" + separator + "p/U\nint8 b", 3, rosmsg.ErrDefinition},
		{"type name too long", "int8 a" + separator + "MSG: " + strings.Repeat("a", 256) + "/U\nint8 b", 3, rosmsg.ErrLimit},
		{"type name of a terminal", "U u" + separator + "MSG: \x1b[2J/U\nint8 b", 3, rosmsg.ErrDefinition},
		{"type name of no text", "U u" + separator + "MSG: \xff/U\nint8 b", 3, rosmsg.ErrDefinition},
		{"many fields", numbered(1<<14+1, "int8 a%d\n") + "U u" + separator + "MSG: p/U\n" + numbered(1<<14, "int8 a%d\n"), 0, rosmsg.ErrLimit},
		{"constant of many digits", "int8 A=" + strings.Repeat("9", 500_000), 1, rosmsg.ErrDefinition},
		{"constant of nothing", "uint8 A=-", 1, rosmsg.ErrDefinition},
		{"constant of time", "time A=1", 1, rosmsg.ErrDefinition},
		{"constant of message", "Header A=1", 1, rosmsg.ErrDefinition},
		{"constant without value", "int8 A=", 1, rosmsg.ErrDefinition},
		{"constant too big", "int8 A=128", 1, rosmsg.ErrDefinition},
		{"constant too small", "int8 A=-129", 1, rosmsg.ErrDefinition},
		{"constant negative", "uint64 A=-1", 1, rosmsg.ErrDefinition},
		{"constant of hex", "uint8 A=0x10", 1, rosmsg.ErrDefinition},
		{"constant twice equal", "int8 A=1=2", 1, rosmsg.ErrDefinition},
		{"constant bool", "bool A=yes", 1, rosmsg.ErrDefinition},
		{"equals first", "=", 1, rosmsg.ErrDefinition},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := rosmsg.Parse("p/T", test.text)
			var e *rosmsg.DefinitionError
			if !errors.Is(err, test.want) || !errors.As(err, &e) || !errors.Is(err, rosmsg.ErrDefinition) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if test.line != 0 && e.Line != test.line {
				t.Errorf("line %d, want %d: %v", e.Line, test.line, err)
			}
			if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// numbered repeats a line with the numbers from 0.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "*", "p/T", "T"} { // as bags have them
		if typ, err := rosmsg.Parse(name, "int8 a"); err != nil || typ.Name() != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"\x1b[2J", "p/T\n", "p/\xff", "p/\u202eT", strings.Repeat("a", 257), strings.Repeat("\x1b", 100_000)} {
		_, err := rosmsg.Parse(name, "int8 a")
		if !errors.Is(err, rosmsg.ErrDefinition) || strings.ContainsAny(err.Error(), "\x1b\n\u202e") || len(err.Error()) > 700 {
			t.Errorf("%.20q: %.100v", name, err)
		}
	}
}

// TestDefinitionBombs has definitions that are as long as may be.
// It is not parallel: what others allocate would count.
func TestDefinitionBombs(t *testing.T) {
	packages := numbered(4000, strings.TrimPrefix(separator, "\n")+"MSG: q/T%d\n")
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"lines", strings.Repeat("\n", 1<<20), nil},
		{"names", numbered(10_000, "U[] a%d\n") + separator + "MSG: " + strings.Repeat("a", 500_000) + "/U\nint8 a", rosmsg.ErrLimit},
		{"packages left out", numbered(30_000, "U a%d\n") + packages + separator + "MSG: q/U\nint8 a", nil},
	} {
		var err error
		if used := allocated(func() { _, err = rosmsg.Parse("p/T", test.text) }); used > 30<<20 {
			t.Errorf("%s: %d bytes of a definition take %d", test.name, len(test.text), used)
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
}

// TestMD5Sum has sums that ROS publishes for its own messages.
func TestMD5Sum(t *testing.T) {
	t.Parallel()
	vector := "MSG: geometry_msgs/Vector3\n# This represents a vector in free space.\nfloat64 x\nfloat64 y\nfloat64 z"
	for _, test := range []struct{ typ, text, want string }{
		{"std_msgs/Empty", "", rosmsg.EmptyMD5Sum},
		{"std_msgs/String", "string data\n", "992ce8a1687cec8c8bd883ec73ca41d1"},
		{"std_msgs/Header", "# Standard metadata\nuint32 seq\n#time\ntime stamp\n\nstring frame_id\n", "2176decaecbce78abc3b96ef049fabed"},
		{"geometry_msgs/Twist", "# velocity\nVector3  linear\nVector3  angular\n" + separator + vector, "9f195f881246fdfa2798d1d3eebca84a"},
		{"rosgraph_msgs/Log", `##
## Severity level constants
##
byte DEBUG=1 #debug level
byte INFO=2  #general level
byte WARN=4  #warning level
byte ERROR=8 #error level
byte FATAL=16 #fatal/critical level
##
## Fields
##
Header header
byte level
string name # name of the node
string msg # message
string file # file the message came from
string function # function the message came from
uint32 line # line the message came from
string[] topics # topic names that the node publishes
` + separator + headerText, "acffd30cd6b6de30f120938c17c593fb"},
	} {
		typ, err := rosmsg.Parse(test.typ, test.text)
		if err != nil {
			t.Errorf("%s: %v", test.typ, err)
			continue
		}
		if got := typ.MD5Sum(); got != test.want {
			t.Errorf("%s: %s, want %s", test.typ, got, test.want)
		}
	}
}
