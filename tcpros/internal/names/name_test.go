package names

import (
	"errors"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	tests := []struct {
		name, in, want string
		ns             string
		args           Args
	}{
		{"relative", "chatter", "/chatter", "", Args{}},
		{"absolute", "/chatter", "/chatter", "", Args{}},
		{"private", "~x", "/record/x", "", Args{}},
		{"private with slash", "~/x", "/record/x", "", Args{}},
		{"slashes", "a//b///c/", "/a/b/c", "", Args{}},
		{"absolute slashes", "///a//b//", "/a/b", "", Args{}},
		{"namespace", "chatter", "/ns/chatter", "/ns", Args{}},
		{"namespace without slash", "chatter", "/ns/chatter", "ns", Args{}},
		{"namespace with slashes", "chatter", "/ns/a/chatter", "//ns//a/", Args{}},
		{"root namespace", "chatter", "/chatter", "/", Args{}},
		{"namespace and absolute", "/chatter", "/chatter", "ns", Args{}},
		{"namespace and private", "~x", "/ns/record/x", "ns", Args{}},
		{"__ns beats environment", "chatter", "/two/chatter", "one", Args{Namespace: "two"}},
		{"empty name", "", "/ns", "ns", Args{}},
		{"remap relative", "foo", "/bar", "", Args{Remaps: []Remap{{"foo", "bar"}}}},
		{"remap spelled absolutely", "foo", "/ns/bar", "ns", Args{Remaps: []Remap{{"/ns/foo", "bar"}}}},
		{"remap spelled relatively", "/ns/foo", "/bar", "ns", Args{Remaps: []Remap{{"foo", "/bar"}}}},
		{"remap only whole names", "foo/x", "/foo/x", "", Args{Remaps: []Remap{{"foo", "bar"}}}},
		{"remap once", "a", "/b", "", Args{Remaps: []Remap{{"a", "b"}, {"b", "c"}}}},
		{"last remap wins", "a", "/c", "", Args{Remaps: []Remap{{"a", "b"}, {"a", "c"}}}},
		{"remap private", "~x", "/y", "", Args{Remaps: []Remap{{"~x", "y"}}}},
		{"remap to private", "x", "/rec/y", "", Args{Name: "rec", Remaps: []Remap{{"x", "~y"}}}},
		{"remap with slashes", "/a/b", "/c", "", Args{Remaps: []Remap{{"a//b/", "/c/"}}}},
		{"own name is not remapped", "~x", "/record/x", "", Args{Remaps: []Remap{{"record", "other"}}}},
		{"own full name is", "~x", "/other/x", "", Args{Remaps: []Remap{{"/record", "other"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := New("record", "", tt.ns, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := n.Resolve(tt.in); err != nil || got != tt.want {
				t.Errorf("resolve(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestNodeName(t *testing.T) {
	tests := []struct {
		name, want string
		anonymous  string
		ns         string
		args       Args
	}{
		{"plain", "/record", "", "", Args{}},
		{"anonymous", "/record_123", "123", "", Args{}},
		{"named is not anonymous", "/rec", "123", "", Args{Name: "rec"}},
		{"namespace", "/a/b/record_123", "123", "a/b", Args{}},
	}
	for _, tt := range tests {
		n, err := New("record", tt.anonymous, tt.ns, tt.args)
		if err != nil {
			t.Fatal(err)
		}
		if n.Node != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, n.Node, tt.want)
		}
	}
}

func TestInvalidNames(t *testing.T) {
	n, err := New("record", "", "", Args{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1a", "_a", "a b", "a-b", "a~b", "/a\x00", "ä", "/", "//", strings.Repeat("a", MaxBytes+1), "<a>"} {
		if got, err := n.Resolve(name); !errors.Is(err, ErrName) {
			t.Errorf("resolve(%q) = %q, %v", name, got, err)
		}
	}
	for what, a := range map[string]Args{
		"node with slash": {Name: "a/b"}, "node with tilde": {Name: "~a"}, "node with blank": {Name: "a b"}, "namespace": {Namespace: "a b"},
		"remap from": {Remaps: []Remap{{"a b", "c"}}}, "remap to": {Remaps: []Remap{{"a", "b c"}}},
	} {
		if _, err := New("record", "", "", a); !errors.Is(err, ErrName) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := New("", "", "", Args{}); !errors.Is(err, ErrName) {
		t.Errorf("empty node name: %v", err)
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"", "a", "/a//b/", "~x", "~/", "///", "a~", "\xff", "0"} {
		f.Add(s, "ns")
	}
	f.Fuzz(func(t *testing.T, name, ns string) {
		n, err := New("record", "", ns, Args{})
		if err != nil {
			return
		}
		full, err := n.Resolve(name)
		if err != nil {
			return
		}
		if full == "" || full[0] != '/' || strings.Contains(full, "//") || len(full) > 1 && strings.HasSuffix(full, "/") || CheckName(full) != nil && len(full) <= MaxBytes {
			t.Fatalf("resolve(%q) in %q = %q", name, ns, full)
		}
		if again, err := n.Resolve(full); len(full) <= MaxBytes && (err != nil || again != full) {
			t.Fatalf("resolve(%q) = %q, %v: not stable", full, again, err)
		}
	})
}
