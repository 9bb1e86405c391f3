package expr_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// inNamespace resolves names as in the namespace /ns.
func inNamespace(name string) (string, error) {
	switch {
	case strings.Contains(name, " "):
		return "", fmt.Errorf("%q is no name", name)
	case strings.HasPrefix(name, "/"):
		return name, nil
	}
	return "/ns/" + name, nil
}

func TestCompileTopics(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expr    string
		want    []string
		wantErr string
	}{
		{expr: `topic == "/a" && m.x > 1`, want: []string{"/a"}},
		{expr: `"a" == topic`, want: []string{"/ns/a"}},
		{expr: `topic in ["/b", "a", "/b"] and m.x > 1`, want: []string{"/b", "/ns/a"}},
		{expr: `topic == "/b" && m.x > 1 || topic == "/a" && m.y`, want: []string{"/a", "/b"}},
		{expr: `topic == "/a" && topic != "/c"`, want: []string{"/a"}},
		{expr: `topic == "/a" && any(m.status, {.level >= 2})`, want: []string{"/a"}},
		{expr: `m.x > 1`, wantErr: "names no topic"},
		{expr: `topic != "/a"`, wantErr: "names no topic"},
		{expr: `not (topic == "/a")`, wantErr: "names no topic"},
		{expr: `topic not in ["/a"]`, wantErr: "names no topic"},
		{expr: `topic startsWith "/a"`, wantErr: "names no topic"},
		{expr: `topic == "a b"`, wantErr: `"a b" is no name`},
		{expr: `topic ==`, wantErr: "incomplete"},
	} {
		p, err := expr.CompileTopics(test.expr, inNamespace)
		if test.wantErr != "" {
			if !errors.Is(err, expr.ErrExpression) || !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("%s: error %v, want %s", test.expr, err, test.wantErr)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.expr, err)
			continue
		}
		if d := cmp.Diff(test.want, p.Topics()); d != "" {
			t.Errorf("%s: %s", test.expr, d)
		}
	}
}

// TestResolvedNames: names are compared as they were resolved.
func TestResolvedNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`topic == "a"`: true, `topic in ["b", "a"]`: true, `topic == "/a"`: false, `topic == "/ns/a" && topic != "a"`: false} {
		p, err := expr.CompileTopics(text, inNamespace)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Keep(message("/ns/a", "p/T", "", nil)); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	const definition = "Sub[] subs\nSub one\n" + "================================================================================\nMSG: p/Sub\nint32 n\nstring name\n"
	for _, test := range []struct {
		expr string
		want []expr.Lack
	}{
		{expr: `topic == "/a" && m.one.n > 1 && any(m.subs, {.n >= 2}) && m.subs[0].n == 1`},
		{expr: `topic == "/a" && m.on.n > 1`, want: []expr.Lack{{Field: "m.on.n", Reason: `p/T has no field "on": it has subs, one`}}},
		{expr: `topic == "/a" && m.one.m.deep > 1`, want: []expr.Lack{{Field: "m.one.m.deep", Reason: `p/Sub has no field "m": it has n, name`}}},
		{expr: `topic == "/a" && any(m.subs, .level > 1)`, want: []expr.Lack{{Field: "m.subs[…].level", Reason: `p/Sub has no field "level": it has n, name`}}},
		{expr: `topic == "/a" && m.one.n.x > 1`, want: []expr.Lack{{Field: "m.one.n.x", Reason: `int32 has no field "x"`}}},
		{expr: `topic == "/a" && (m?.other ?? 1) > 0`},
	} {
		p, err := expr.CompileTopics(test.expr, inNamespace)
		if err != nil {
			t.Fatal(err)
		}
		conn, _ := message("/a", "p/T", definition, nil)
		got, err := p.Lacking(conn)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s: %s", test.expr, d)
		}
	}
	p, err := expr.CompileTopics(`topic == "/a" && m.x > 1`, inNamespace)
	if err != nil {
		t.Fatal(err)
	}
	conn, _ := message("/a", "p/T", "", nil)
	if _, err := p.Lacking(conn); !errors.Is(err, msgdef.ErrNoDefinition) {
		t.Errorf("without a definition: %v", err)
	}
}

// TestManyTypes: message types beyond those that are remembered are parsed again.
func TestManyTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		definition string
		most       int
	}{
		"small": {"uint8 x", 256},
		"large": {"uint8 x # " + strings.Repeat("x", 500<<10), 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := expr.Compile(`m.x == 1`)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 600 {
				got, err := p.Keep(message("/a", fmt.Sprintf("p/T%d", i), test.definition, []byte{1}))
				if !got || err != nil {
					t.Fatalf("type %d: %v, %v", i, got, err)
				}
				if n := expr.RememberedTypes(p); n > test.most {
					t.Fatalf("%d types are remembered", n)
				}
			}
		})
	}
}

// TestManyMessages: a field with more messages than a live graph should have is an error, and none
// where there is time and memory for it.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	const head = "================================================================================\nMSG: p/"
	const definition = "Outer[] all\n" + head + "Outer\nInner[] all\n" + head + "Inner\nuint8 x\n"
	payload := func(outer, inner int) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(outer))
		for range outer {
			b = binary.LittleEndian.AppendUint32(b, uint32(inner))
			b = append(b, make([]byte, inner)...)
		}
		return b
	}
	for name, test := range map[string]struct {
		outer, inner int
		fails        bool
	}{
		"as many as may be":     {128, 127, false},
		"one more":              {1, 1 << 14, true},
		"many in some elements": {2, 1 << 13, true},
		"many elements":         {1<<14 + 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, m := message("/a", "p/T", definition, payload(test.outer, test.inner))
			live, err := expr.CompileTopics(`topic == "/a" && len(m.all) > 0`, inNamespace)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := live.Keep(conn, m); got == test.fails || errors.Is(err, rosmsg.ErrLimit) != test.fails {
				t.Errorf("live: %v, %v", got, err)
			}
			other, err := expr.Compile(`len(m.all) > 0`)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := other.Keep(conn, m); !got || err != nil {
				t.Errorf("not live: %v, %v", got, err)
			}
		})
	}
}
