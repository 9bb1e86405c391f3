package migration_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/migration"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

var update = flag.Bool("update", false, "write testdata/genpy.json anew, which needs ROS")

// made is what genpy makes of a message.
type made struct {
	MD5Sum  string `json:"md5sum"`
	Payload string `json:"payload"`
}

type madeRow struct{ Old, New made }

const goldenFile = "testdata/genpy.json"

// completed returns the rows with what they leave out.
func completed() []row {
	all := append([]row(nil), rows...)
	for i := range all {
		if all[i].OldType == "" {
			all[i].OldType, all[i].NewType = "p/T", "p/T"
		}
	}
	return all
}

// TestGenpy checks that the expected bytes are those of genpy.
func TestGenpy(t *testing.T) {
	t.Parallel()
	testkit.SkipWithoutROS(t)
	err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import genpy.dynamic").Run()
	if err != nil {
		testkit.Missing(t, "genpy is not installed (Debian 12: apt-get install python3-genpy): "+err.Error())
	}
	in, err := json.Marshal(completed())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/rows.py")
	cmd.Stdin = bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.Bytes())
	}
	if *update {
		if err := os.WriteFile(goldenFile, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(filepath.FromSlash(goldenFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, golden) {
		t.Error(goldenFile + " is not what genpy says; -update writes it anew")
	}
}

func goldenRows(t testing.TB) []madeRow {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(goldenFile))
	if err != nil {
		t.Fatal(err)
	}
	var all []madeRow
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(rows) {
		t.Fatalf("%s has %d rows, not %d; -update writes it anew", goldenFile, len(all), len(rows))
	}
	return all
}

func parse(t testing.TB, name, text string) *rosmsg.Type {
	t.Helper()
	typ, err := rosmsg.Parse(name, text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return typ
}

func options(t testing.TB, args ...string) *migration.Options {
	t.Helper()
	o := &migration.Options{}
	add := map[string]func(string) error{"--set": o.Set, "--drop": o.Drop, "--convert": o.Convert, "--field": o.RenameField, "--rename": o.RenameType}
	for _, arg := range args {
		option, value, _ := strings.Cut(arg, " ")
		if err := add[option](value); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func said(changes []migration.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}

// TestRows checks each kind of change against the bytes of genpy.
func TestRows(t *testing.T) {
	t.Parallel()
	golden := goldenRows(t)
	for i, r := range completed() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			from, to := parse(t, r.OldType, r.Old), parse(t, r.NewType, r.New)
			if from.MD5Sum() != golden[i].Old.MD5Sum || to.MD5Sum() != golden[i].New.MD5Sum {
				t.Errorf("md5sums %s and %s, want %s and %s", from.MD5Sum(), to.MD5Sum(), golden[i].Old.MD5Sum, golden[i].New.MD5Sum)
			}
			o := options(t, r.Options...)
			p, err := migration.Compare(from, to, o)
			if err != nil {
				t.Fatal(err)
			}
			if refused := p.Refused(); len(refused) > 0 {
				t.Fatalf("refused: %v", refused)
			}
			if got := said(p.Changes); got != r.Changes {
				t.Errorf("changes\n%s\nwant\n%s", got, r.Changes)
			}
			if p.Loss() != r.Loss {
				t.Errorf("loss %d, want %d", p.Loss(), r.Loss)
			}
			if unused := o.Unused(); len(unused) > 0 {
				t.Errorf("unused: %v", unused)
			}
			old, want := unhex(t, golden[i].Old.Payload), unhex(t, golden[i].New.Payload)
			got, err := p.Converter().Append([]byte("before"), old, rosbag.Time{Sec: 100, Nsec: 7})
			if err != nil || string(got) != "before"+string(want) {
				t.Errorf("%x becomes %x (%v), want %x", old, got[len("before"):], err, want)
			}
			if p.SameBytes() != bytes.Equal(old, want) {
				t.Errorf("SameBytes is %v", p.SameBytes())
			}
			for n := range old {
				if _, err := p.Converter().Append(nil, old[:n:n], rosbag.Time{}); !errors.Is(err, rosmsg.ErrCorrupt) {
					t.Errorf("cut to %d of %d bytes: %v", n, len(old), err)
				}
			}
			if _, err := p.Converter().Append(nil, append(old[:len(old):len(old)], 0), rosbag.Time{}); !errors.Is(err, rosmsg.ErrTrailing) {
				t.Errorf("with a byte more: %v", err)
			}
		})
	}
}

// TestRefused checks what is not done without an option, and that the advice is an option that allows it.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, old, new string
		refused        string // of all changes
		advice         string
	}{
		{"removed", "int32 a\nint32 b\n", "int32 a\n", "p/T.b (int32) is dropped", "--drop p/T.b"},
		{"renamed", "int32 a\nfloat64 old\n", "int32 a\nfloat64 new\n", "p/T.old (float64) is dropped", "--field p/T.old=new if that is its new name; else --drop p/T.old"},
		{"narrower", "int32 a\n", "int16 a\n", "p/T.a: int32 becomes int16", "--convert p/T.a, which looks at each"},
		{"other sign", "int32 a\n", "uint32 a\n", "p/T.a: int32 becomes uint32", "--convert p/T.a, which looks at each"},
		{"float to int", "float32 a\n", "int64 a\n", "p/T.a: float32 becomes int64", "--convert p/T.a, which looks at each"},
		{"int to float", "int8 a\n", "float64 a\n", "p/T.a: int8 becomes float64", "--convert p/T.a, which looks at each"},
		{"bool to a wider number", "bool a\n", "uint16 a\n", "p/T.a: bool becomes uint16", "--convert p/T.a, which looks at each"},
		{"one to many", "int32 a\n", "int32[] a\n", "p/T.a: int32 becomes int32[]", "--drop p/T.a, and perhaps --set p/T.a=VALUE"},
		{"many to one", "int32[] a\n", "int32 a\n", "p/T.a: int32[] becomes int32", "--drop p/T.a, and perhaps --set p/T.a=VALUE"},
		{"lengths", "int32[2] a\n", "int32[3] a\n", "p/T.a: int32[2] becomes int32[3]", "--drop p/T.a, and perhaps --set p/T.a=VALUE"},
		{"string to int", "string a\n", "int32 a\n", "p/T.a: string becomes int32", "--drop p/T.a, and perhaps --set p/T.a=VALUE"},
		{"time to duration", "time a\n", "duration a\n", "p/T.a: time becomes duration", "--drop p/T.a, and perhaps --set p/T.a=VALUE"},
		{"int to time", "int64 a\n", "time a\n", "p/T.a: int64 becomes time", "--drop p/T.a, and perhaps --set p/T.a=VALUE"},
		{"type of a field", "q/A a\n" + sub("q/A", "int8 x"), "q/B a\n" + sub("q/B", "int8 x"), "q/A becomes q/B", "--rename q/A=q/B"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			from, to := parse(t, "p/T", test.old), parse(t, "p/T", test.new)
			p, err := migration.Compare(from, to, nil)
			if err != nil {
				t.Fatal(err)
			}
			refused := p.Refused()
			if got := said(refused); got != test.refused {
				t.Fatalf("refused %q, want %q", got, test.refused)
			}
			if got := p.Needs(); got != test.advice {
				t.Errorf("advice %q, want %q", got, test.advice)
			}
			option, _, _ := strings.Cut(strings.NewReplacer(" if that is its new name", "").Replace(test.advice), ",")
			option, _, _ = strings.Cut(option, ";")
			if p, err = migration.Compare(from, to, options(t, option)); err != nil || len(p.Refused()) > 0 {
				t.Errorf("with %s: %v, refused %v", option, err, p.Refused())
			}
		})
	}
}

// TestValues checks values that the wanted type cannot hold: the error says which.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, old, new string
		payload        string
		want           string
	}{
		{"int32 to int16", "int32 a\n", "int16 a\n", "00800000", "p/T: a is 32768, which does not fit int16"},
		{"negative", "int32 a\n", "uint32 a\n", "ffffffff", "p/T: a is -1, which does not fit uint32"},
		{"too high for a sign", "uint64 a\n", "int64 a\n", "0000000000000080", "p/T: a is 9223372036854775808, which does not fit int64"},
		{"2 to bool", "int8 a\n", "bool a\n", "02", "p/T: a is 2, which does not fit bool"},
		{"NaN", "float32 a\n", "int32 a\n", "0000c07f", "p/T: a is NaN, which does not fit int32"},
		{"float too high", "float64 a\n", "uint64 a\n", "000000000000f043", "p/T: a is 1.8446744073709552e+19, which does not fit uint64"},
		{"float64 to float32", "float64 a\n", "float32 a\n", "9c7500883ce4377e", "p/T: a is 1e+300, which does not fit float32"},
		{"in an array", "int16[] a\n", "int8[] a\n", "0200000001000001", "p/T: a[1] is 256, which does not fit int8"},
		{"nested", "E[] e\n" + sub("p/E", "F f") + sub("p/F", "string s\nint16 x"), "E[] e\n" + sub("p/E", "F f") + sub("p/F", "string s\nint8 x"), "01000000000000008000", "p/T: e[0].f.x is 128, which does not fit int8"},
		{"length", "int8[] a\n", "int8[2] a\n", "03000000010203", "p/T: a is an array of 3, which does not fit int8[2]"},
		{"reordered", "int16 a\nE e\n" + sub("p/E", "int16 x\nint8 y"), "E e\nint16 a\n" + sub("p/E", "int8 y\nint8 x"), "0100000104", "p/T: e.x is 256, which does not fit int8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := migration.Compare(parse(t, "p/T", test.old), parse(t, "p/T", test.new), options(t, "--convert all"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Converter().Append(nil, unhex(t, test.payload), rosbag.Time{})
			if !errors.Is(err, migration.ErrValue) || err.Error() != test.want || len(got) > 0 {
				t.Errorf("%x, %v; want %s", got, err, test.want)
			}
		})
	}
}

// TestRounded counts values that are not what they were.
func TestRounded(t *testing.T) {
	t.Parallel()
	p, err := migration.Compare(parse(t, "p/T", "float64[] a\nfloat64 b\nint64 c\n"), parse(t, "p/T", "float32[] a\nint8 b\nfloat64 c\n"), options(t, "--convert all"))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Converter()
	// 0.5, 0.1; 2.5; 2^53 + 1
	in := unhex(t, "02000000"+"000000000000e03f"+"9a9999999999b93f"+"0000000000000440"+"0100000000002000")
	out, err := c.Append(nil, in, rosbag.Time{})
	if want := "02000000" + "0000003f" + "cdcccc3d" + "02" + "0000000000004043"; err != nil || hex.EncodeToString(out) != want {
		t.Errorf("%x, %v; want %s", out, err, want)
	}
	if c.Rounded() != 3 {
		t.Errorf("%d rounded, want 3", c.Rounded())
	}
}

// TestSetErrors checks values that no field can have.
func TestSetErrors(t *testing.T) {
	t.Parallel()
	from, to := parse(t, "p/T", ""), parse(t, "p/T", "int8 a\nbool b\nfloat32[2] c\ntime d\nE e\nduration f\nuint8 g\n"+sub("p/E", "int8 x"))
	for _, test := range []struct{ option, want string }{
		{"--set p/T.a=128", "--set p/T.a=128: is no int8"},
		{"--set p/T.b=2", "--set p/T.b=2: is no bool"},
		{"--set p/T.c=1", "--set p/T.c=1: float32[2] is an array: write [a, b, c]"},
		{"--set p/T.c=[1]", "--set p/T.c=[1]: has 1 elements, and float32[2] has 2"},
		{"--set p/T.d=-1", "--set p/T.d=-1: is no time in seconds"},
		{"--set p/T.e=1", "--set p/T.e=1: p/E is a message; set its fields"},
		{"--set p/T.f=1e9", "--set p/T.f=1e9: is no duration in seconds"},
		{"--set p/T.g=-1", "--set p/T.g=-1: is no uint8"},
	} {
		if _, err := migration.Compare(from, to, options(t, test.option)); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.option, err, test.want)
		}
	}
	o := options(t, "--set p/T.nosuch=1", "--drop p/T.x", "--rename a/A=a/B", "--field p/T.x=y", "--convert p/T.z")
	if _, err := migration.Compare(from, to, o); err != nil || len(o.Unused()) != 5 {
		t.Errorf("%v, unused: %v", err, o.Unused())
	}
}

// TestHostile checks that little does not become much.
func TestHostile(t *testing.T) {
	t.Parallel()
	types := func(n int, leaf string) string { // 2^n messages
		var b strings.Builder
		b.WriteString("AA a\nAA b\n")
		for i := range n {
			next := "A" + string(rune('A'+i+1)) + " a\nA" + string(rune('A'+i+1)) + " b"
			if i == n-1 {
				next = leaf
			}
			b.WriteString(sub("p/A"+string(rune('A'+i)), next))
		}
		return b.String()
	}
	for _, test := range []struct{ name, old, new, payload, option string }{
		{"array of nothing", "E[] a\n" + sub("p/E", ""), "E[] a\n" + sub("p/E", "float64 x"), "00000001", ""},
		{"long arrays of nothing", "E[] a\n" + sub("p/E", "F[] f") + sub("p/F", ""), "E[] a\n" + sub("p/E", "F[] f") + sub("p/F", "float64[100] x"), "0300000000ffff0000ffff0000ffff00", ""},
		{"many parts", types(20, "string s\nint8 x"), types(20, "string s\nint16 x"), "", ""},
		{"many new parts", "int8 z\n", "int8 z\n" + types(24, "string s"), "00", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			from, to := parse(t, "p/T", test.old), parse(t, "p/T", test.new)
			p, err := migration.Compare(from, to, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Converter().Append(nil, unhex(t, test.payload), rosbag.Time{}); !errors.Is(err, rosmsg.ErrCorrupt) {
				t.Errorf("%v", err)
			}
		})
	}
	from, to := parse(t, "p/T", "int8 z\n"), parse(t, "p/T", "int8 z\n"+types(24, "string s"))
	if _, err := migration.Compare(from, to, options(t, "--set p/A"+string(rune('A'+23))+".s=x")); err == nil {
		t.Error("2^24 values are inserted")
	}
}

// TestManyFields checks that a comparison of many fields that are gone with many that are new takes time for each of them, and
// not for each pair.
func TestManyFields(t *testing.T) {
	var before, after strings.Builder
	const n = 15_000
	for i := range n {
		fmt.Fprintf(&before, "int8[4] a%d\n", i)
		fmt.Fprintf(&after, "int8[4] b%d\n", i)
	}
	from, to := parse(t, "p/T", before.String()), parse(t, "p/T", after.String())
	if n := testing.AllocsPerRun(1, func() {
		if p, err := migration.Compare(from, to, nil); err != nil || len(p.Refused()) != n {
			t.Errorf("%v", err)
		}
	}); n > 100*2*15_000 {
		t.Errorf("%v allocations", n)
	}
}

// TestNoBytes checks that arrays of messages that have no bytes, in arrays of such, are no work: the steps of each element of
// the innermost would be done 2^72 times.
func TestNoBytes(t *testing.T) {
	t.Parallel()
	nested := func(leaf string) string {
		return "E[16777216] a\n" + sub("p/E", "F[16777216] b") + sub("p/F", "G[16777216] c") + sub("p/G", leaf)
	}
	for _, test := range []struct{ name, old, new, option string }{
		{"numbers", "int8[0] x", "int16[0] x", ""},
		{"another order", "int8[0] x\nint8[0] y", "int8[0] y\nint16[0] x", ""},
		{"messages", "H[0] x\n" + sub("p/H", "int8 v"), "H[0] x\n" + sub("p/H", "int16 v"), ""},
		{"a value without elements", "", "string[0] x", "--set p/G.x=[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var allowed []string
			if test.option != "" {
				allowed = append(allowed, test.option)
			}
			p, err := migration.Compare(parse(t, "p/T", nested(test.old)), parse(t, "p/T", nested(test.new)), options(t, allowed...))
			if err != nil || !p.SameBytes() {
				t.Fatalf("%v: it has steps", err)
			}
			if out, err := p.Converter().Append(nil, nil, rosbag.Time{}); err != nil || len(out) > 0 {
				t.Errorf("%x, %v", out, err)
			}
		})
	}
}

// TestAllocations checks that a conversion needs no memory but that of its result.
func TestAllocations(t *testing.T) {
	golden := goldenRows(t)
	for i, r := range completed() {
		p, err := migration.Compare(parse(t, r.OldType, r.Old), parse(t, r.NewType, r.New), options(t, r.Options...))
		if err != nil {
			t.Fatal(err)
		}
		c, old := p.Converter(), unhex(t, golden[i].Old.Payload)
		dst := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(10, func() { dst, _ = c.Append(dst[:0], old, rosbag.Time{}) }); n > 0 {
			t.Errorf("%s: %v allocations", r.Name, n)
		}
	}
}
