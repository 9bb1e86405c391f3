package msg_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros2/msg"
)

var dashes = strings.Repeat("=", 80) + "\n"

func parse(t testing.TB, name, schema string) *msg.Type {
	t.Helper()
	typ, err := msg.Parse(name, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// TestSchema checks what is read of a schema, as it is written again.
func TestSchema(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"everything", `# a comment
byte B=1
string<=5 S="a"   # another
float64[] d [1.0, 2.0]
float64[3] fixed
float64[<=4] most
string<=7 short "abc"
string<=7[<=2] both
wstring w
char c 65
	bool   tabs   true
int32 X = 5
`, `byte B=1
string<=5 S="a"
int32 X=5
float64[] d [1.0, 2.0]
float64[3] fixed
float64[<=4] most
string<=7 short "abc"
string<=7[<=2] both
wstring w
uint8 c 65
bool tabs true
`},
		{
			"names of dependencies", "Own a\nq/Other b\nq/msg/Other c\n" + dashes + "MSG: p/Own\nint8 x\n" + dashes + "MSG: q/msg/Other\nint8 y\n",
			"p/Own a\nq/Other b\nq/Other c\n" + dashes + "MSG: p/Own\nint8 x\n" + dashes + "MSG: q/Other\nint8 y\n",
		},
		{"short separator, no line break at the end, CRLF", "Own a\r\n===\r\nMSG: p/Own\r\nint8 x", "p/Own a\n" + dashes + "MSG: p/Own\nint8 x\n"},
		{"comments that end as separators", "# " + dashes + "#" + dashes + "Own a # " + dashes + dashes + "MSG: p/Own\nint8 x # " + dashes, "p/Own a\n" + dashes + "MSG: p/Own\nint8 x\n"},
		{"NUL, byte order marks, no line break before a separator", "\ufeffOwn a" + dashes + "\n\nMSG: p/Own\n\ufeffint8 x\x00", "p/Own a\n" + dashes + "MSG: p/Own\nint8 x\n"},
		{
			"built-in types are known", "builtin_interfaces/Time t\nduration d\ntime[] more",
			"builtin_interfaces/Time t\nbuiltin_interfaces/Duration d\nbuiltin_interfaces/Time[] more\n" +
				dashes + "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n" + dashes + "MSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec\n",
		},
		{"header as in ROS 1", "Header header\n" + dashes + "MSG: std_msgs/Header\nstring frame_id\n", "std_msgs/Header header\n" + dashes + "MSG: std_msgs/Header\nstring frame_id\n"},
		{"header of the package", "Header header\n" + dashes + "MSG: std_msgs/Header\nint8 a\n" + dashes + "MSG: p/Header\nint8 b\n", "p/Header header\n" + dashes + "MSG: p/Header\nint8 b\n"},
		{"nothing", "", "# no fields\n"},
		{"names that rosidl refuses", "float64[9] K\nint8 frameId\nint8 a__b_\nint8 kMax=1", "int8 kMax=1\nfloat64[9] K\nint8 frameId\nint8 a__b_\n"},
		{"action", "unique/UUID id\n" + dashes + "MSG: unique/UUID\nuint8[16] uuid", "unique/UUID id\n" + dashes + "MSG: unique/UUID\nuint8[16] uuid\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, "p/msg/T", tt.in).Schema()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("-want +got\n%s", diff)
			}
			if again := parse(t, "p/T", got); again.Schema() != got || again.Hash() != parse(t, "p/msg/T", tt.in).Hash() {
				t.Errorf("read again:\n%s", again.Schema())
			}
		})
	}
}

func TestDefinitionErrors(t *testing.T) {
	t.Parallel()
	deep := "N1 n\n"
	for i := 1; i < 100; i++ {
		deep += dashes + "MSG: p/N" + strings.Repeat("I", i) + "\nN" + strings.Repeat("I", i+1) + " n\n"
	}
	deep = strings.Replace(deep, "N1", "NI", 1)
	tests := []struct {
		name, typ, in string
		limit         bool
		text          string
	}{
		{name: "no type", typ: "T", in: "", text: "definition of T: the name is not of the form package/msg/Type"},
		{name: "type with a dash", typ: "p/msg/T-1", in: "", text: "definition of p/msg/T-1: the name is not of the form package/msg/Type"},
		{name: "unknown", in: "int8 a\nq/X b", text: `definition of p/msg/T, line 2: no definition of "q/X"`},
		{name: "recursion", in: "T t", text: "definition of p/msg/T, line 1: p/msg/T contains itself"},
		{name: "mutual", in: "A a\n" + dashes + "MSG: p/A\nT t", text: "definition of p/msg/A, line 4: p/msg/T contains itself"},
		{name: "IDL", in: dashes + "IDL: p/msg/T\nmodule p {};", text: "definition of p/msg/T, line 2: the definition is IDL; only .msg definitions are supported"},
		{name: "no MSG", in: "int8 a\n" + dashes + "int8 b", text: `definition of p/msg/T, line 3: want MSG: and a type, got "int8 b"`},
		{name: "twice", in: "int8 a\nint8 a", text: `definition of p/msg/T, line 2: a second field "a"`},
		{name: "no name", in: "int8", text: `definition of p/msg/T, line 1: "" is no name for a field`},
		{name: "bad name", in: "int8 a-b", text: `definition of p/msg/T, line 1: "a-b" is no name for a field`},
		{name: "bad array", in: "int8[x] a", text: `definition of p/msg/T, line 1: "int8[x]" is no array`},
		{name: "array of none", in: "int8[0] a", text: `definition of p/msg/T, line 1: "int8[0]" is no array`},
		{name: "open array", in: "int8[3 a", text: `definition of p/msg/T, line 1: "int8[3" is no array`},
		{name: "bound of a number", in: "int8<=3 a", text: `definition of p/msg/T, line 1: "int8<=3" is no type`},
		{name: "constant of a message", in: "p/X A=1", text: `definition of p/msg/T, line 1: "p/X" is no type for a constant`},
		{name: "constant without a name", in: "int8 =1", text: `definition of p/msg/T, line 1: "" is no name for a constant`},
		{name: "type with four parts", in: "a/b/c/D x", text: `definition of p/msg/T, line 1: "a/b/c/D" is no name for a type`},
		{name: "long array", in: "int8[99999999] a", limit: true},
		{name: "deep", in: deep, limit: true},
		{name: "long", in: strings.Repeat("#", 1<<20+1), limit: true},
		{name: "many fields", in: strings.Repeat("int8 A=1\n", 1<<15+1), limit: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			typ := tt.typ
			if typ == "" {
				typ = "p/msg/T"
			}
			_, err := msg.Parse(typ, tt.in, nil)
			if !errors.Is(err, msg.ErrDefinition) || errors.Is(err, msg.ErrLimit) != tt.limit {
				t.Fatalf("%v", err)
			}
			if tt.text != "" && err.Error() != tt.text {
				t.Errorf("text %q, want %q", err, tt.text)
			}
		})
	}
}

func TestLegalNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		of   func(string) string
		name string
		want string
	}{
		{msg.LegalName, "x", "x"},
		{msg.LegalName, "frame_id", "frame_id"},
		{msg.LegalName, "D", "d"},
		{msg.LegalName, "frameId", "frameid"},
		{msg.LegalName, "a__b", "a_b"},
		{msg.LegalName, "_x", "x"},
		{msg.LegalName, "from_", "from"},
		{msg.LegalName, "2d", "f_2d"},
		{msg.LegalName, "_", "f"},
		{msg.LegalName, "äb", "b"},
		{msg.LegalName, "Rs__lidar_", "rs_lidar"},
		{msg.LegalConstant, "FOO", "FOO"},
		{msg.LegalConstant, "kMax", "KMAX"},
		{msg.LegalConstant, "FOO_", "FOO"},
		{msg.LegalConstant, "A__B", "A_B"},
		{msg.LegalConstant, "_1", "C_1"},
		{msg.LegalConstant, "", "C"},
		{msg.LegalMessage, "Imu", "Imu"},
		{msg.LegalMessage, "tfMessage", "TfMessage"},
		{msg.LegalMessage, "Foo_Bar", "FooBar"},
		{msg.LegalMessage, "raw_packet", "RawPacket"},
		{msg.LegalMessage, "_", "M"},
		{msg.LegalMessage, "3d", "M3d"},
	}
	for _, tt := range tests {
		if got := tt.of(tt.name); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.name, got, tt.want)
		}
		if got := tt.of(tt.want); got != tt.want {
			t.Errorf("%q, which is legal, becomes %q", tt.want, got)
		}
	}
	for name, want := range map[string]string{
		"a/B": "a/msg/B", "a/msg/B": "a/msg/B", "a/srv/B_Event": "a/srv/B_Event", "a": "", "a//B": "", "a/b/c/D": "", "": "", "a/B-": "", "2/B": "",
	} {
		if got := msg.FullName(name); got != want {
			t.Errorf("full name of %q is %q, want %q", name, got, want)
		}
	}
}

// TestHash checks kinds of values that no type of ROS has, by the text that is hashed:
// {"type_id": …, "capacity": …, "string_capacity": …}.
func TestHash(t *testing.T) {
	t.Parallel()
	same := []struct{ a, b string }{
		{"char c", "uint8 c"},
		{"int8 a 5 # x\nint8 K=1", "int8 a"},
		{"time t", "builtin_interfaces/Time t"},
		{"", "uint8 structure_needs_at_least_one_member"},
	}
	for _, tt := range same {
		if parse(t, "p/T", tt.a).Hash() != parse(t, "p/T", tt.b).Hash() {
			t.Errorf("hash of %q is not that of %q", tt.a, tt.b)
		}
	}
	seen := map[string]string{}
	for _, text := range []string{
		"byte a", "uint8 a", "int8 a", "bool a", "uint8[] a", "uint8[2] a", "uint8[<=2] a", "uint8[<=3] a", "string a", "string<=2 a", "string<=3 a",
		"wstring a", "wstring<=2 a", "string<=2[<=2] a", "uint8 b", "int16 a", "uint16 a", "int32 a", "uint32 a", "int64 a", "uint64 a", "float32 a", "float64 a",
	} {
		h := parse(t, "p/T", text).Hash()
		if seen[h] != "" || len(h) != len("RIHS01_")+64 {
			t.Errorf("hash of %q is that of %q: %s", text, seen[h], h)
		}
		seen[h] = text
	}
}

// TestHashedText checks the text that is hashed, where no published hash does.
func TestHashedText(t *testing.T) {
	t.Parallel()
	const field = `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, "nested_type_name": "%s"}}`
	text := `{"type_description": {"type_name": "p/msg/T", "fields": [` + strings.Join([]string{
		fmt.Sprintf(field, "a", 21, 0, 5, ""), fmt.Sprintf(field, "b", 22+48, 2, 7, ""), fmt.Sprintf(field, "c", 18+144, 0, 0, ""),
		fmt.Sprintf(field, "d", 21+96, 3, 4, ""), fmt.Sprintf(field, "e", 1+96, 9, 0, "p/msg/E"),
	}, ", ") + `]}, "referenced_type_descriptions": [{"type_name": "p/msg/E", "fields": [` + fmt.Sprintf(field, "structure_needs_at_least_one_member", 3, 0, 0, "") + `]}]}`
	want := fmt.Sprintf("RIHS01_%x", sha256.Sum256([]byte(text)))
	if got := parse(t, "p/T", "string<=5 a\nwstring<=7[2] b\nwstring[] c\nstring<=4[<=3] d\nE[<=9] e\n"+dashes+"MSG: p/E\n").Hash(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func FuzzDefinition(f *testing.F) {
	for _, s := range []string{
		"", "int8 a\nstring<=5[<=2] b \"x\"\nint8 A=1\nwstring w", "Own a\n" + dashes + "MSG: p/Own\ntime t\nHeader h\n" + dashes + "MSG: std_msgs/msg/Header\n",
		"T t", dashes + "IDL: p/msg/T", "int8[99999999999] a", "int8[<=] b",
	} {
		f.Add("p/msg/T", s)
	}
	f.Fuzz(func(t *testing.T, name, schema string) {
		typ, err := msg.Parse(name, schema, nil)
		if err != nil {
			if !errors.Is(err, msg.ErrDefinition) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		text := typ.Schema()
		again, err := msg.Parse(typ.Name, text, nil)
		if len(text) > msg.MaxDefinitionBytes {
			return
		}
		if err != nil || again.Schema() != text || again.Hash() != typ.Hash() {
			t.Fatalf("%v, of\n%s", err, text)
		}
	})
}
