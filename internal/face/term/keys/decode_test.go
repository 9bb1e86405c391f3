package keys

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sequences are what terminals send, by terminal.
var sequences = map[string]map[string][]Key{
	"xterm": {
		"\x1b[A": {Up}, "\x1b[B": {Down}, "\x1b[C": {Right}, "\x1b[D": {Left}, "\x1b[H": {Home}, "\x1b[F": {End},
		"\x1b[5~": {PageUp}, "\x1b[6~": {PageDown}, "\x1b[1;2C": {ShiftRight}, "\x1b[1;2D": {ShiftLeft}, "\x1b[1;1A": {Up},
		"\x1b[1;2A": nil, "\x1b[1;3D": nil, "\x1b[1;5s": nil, "\x1b[1;6D": nil, "\x1b[5;2~": nil, "\x1b[2~": nil, "\x1b[3~": nil, "\x1b[15~": nil, "\x1b[Z": nil,
	},
	"xterm, application mode": {
		"\x1bOA": {Up}, "\x1bOB": {Down}, "\x1bOC": {Right}, "\x1bOD": {Left}, "\x1bOH": {Home}, "\x1bOF": {End},
		"\x1bO2D": {ShiftLeft}, "\x1bOP": nil, "\x1bOq": nil, "\x1bOM": nil, "\x1bO5C": nil,
	},
	"linux console": {
		"\x1b[1~": {Home}, "\x1b[4~": {End}, "\x1b[[A": nil, "\x1b[[E": nil, "\x1b[17~": nil,
	},
	"rxvt": {
		"\x1b[7~": {Home}, "\x1b[8~": {End}, "\x1b[c": {ShiftRight}, "\x1b[d": {ShiftLeft}, "\x1b[a": nil, "\x1bOc": nil, "\x1bOd": nil,
		"\x1b[7$": nil, "\x1b[5^": nil, "\x1b\x1b[A": nil, "\x1b\x1b[5~": nil,
	},
	"characters": {
		"q": {'q'}, " ": {' '}, "\x03": {'\x03'}, "\r": {'\r'}, "é": {'é'}, "相": {'相'}, "\x84\xa9": nil, "\xf0\x9f\xa4\x96": {'\U0001f916'}, "\x1bq": nil, "\x1b\x1bq": nil,
	},
	"answers": {
		"\x1b[?1;2c": nil, "\x1b[12;40R": nil, "\x1b[M !!": nil, "\x1b[<0;1;1M": nil, "\x1b[I": nil, "\x1b]11;rgb:0/0/0\a": nil,
		"\x1bP1+rq\x1b\\": nil, "\x1b]11;q\x1b\\": nil, "\x1b[?2026;2$y": nil, "\x1b[200~q s\x1b[A\x1b[201~": nil,
	},
}

// Each sequence is its key, whole or in parts, and none says anything about the next
// key.
func TestDecode(t *testing.T) {
	t.Parallel()
	for terminal, table := range sequences {
		for in, want := range table {
			for _, parts := range [][]string{{in}, strings.Split(in, "")} {
				d := decoder{typed: true}
				var got []Key
				for _, p := range parts {
					got = append(got, d.read([]byte(p))...)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s: %q in %d parts (-want +got):\n%s", terminal, in, len(parts), d)
				}
				if got := d.read([]byte("\x1b[Dx")); !slices.Equal(got, []Key{Left, 'x'}) {
					t.Errorf("%s: after %q: %v", terminal, in, got)
				}
				if d.timeout() != 0 {
					t.Errorf("%s: after %q more is expected", terminal, in)
				}
			}
		}
	}
}

// What does not go on is given up.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]Key{
		"\x1b": {Escape}, "\x1b\x1b": {Escape}, "\x1b[": nil, "\x1b[1;2": nil, "\x1bO": nil, "\x1b[M!": nil, "\x1b]11;": nil, "\x1b[200~x": nil,
	} {
		d := decoder{typed: true}
		if got := d.read([]byte(in)); got != nil {
			t.Errorf("%q: %v at once", in, got)
		}
		if d.timeout() == 0 {
			t.Errorf("%q: nothing is expected", in)
		}
		if diff := cmp.Diff(want, d.quiet()); diff != "" {
			t.Errorf("%q, then nothing (-want +got):\n%s", in, diff)
		}
		if got := d.read([]byte("q")); !slices.Equal(got, []Key{'q'}) {
			t.Errorf("after %q: %v", in, got)
		}
	}
}

// A character that is not complete does not take the next key with it.
func TestTornCharacter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]Key{"\xe7q": {'q'}, "\xe7\x9bé": {'é'}, "\xe7\x1b[A": {Up}, "\xff\xff\xff\xffq": {'q'}} {
		d := decoder{typed: true}
		if diff := cmp.Diff(want, d.read([]byte(in))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

// Where a text is typed, what is pasted is typed, too.
func TestPasteOfText(t *testing.T) {
	t.Parallel()
	text := true
	for _, in := range []string{"this is a quite long text\n", "\x1b[200~this is a quite long text\n\x1b[201~"} {
		d := decoder{typed: true, text: func() bool { return text }}
		var got []rune
		for _, k := range d.read([]byte(in)) {
			got = append(got, rune(k))
		}
		if string(got) != "this is a quite long text\n" {
			t.Errorf("%q: %q", in, string(got))
		}
		d.quiet()
		text = false
		if got := d.read([]byte(in)); got != nil {
			t.Errorf("pasted after the text: %v", got)
		}
		text = true
	}
}

// What is pasted does not act, but a key that is held down does, and so does all that
// comes through a pipe.
// TestPasteOfLines: what is pasted after the end of a text is no command, neither in that read
// nor in those that follow before a pause.
func TestPasteOfLines(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string][]string{
		"with brackets":    {"\x1b[200~door\rqs", "q\x1b[201~"},
		"without brackets": {"door\rqs", "q"},
		"a line feed":      {"door\nq q", "s"},
	} {
		open := true
		d := decoder{typed: true, text: func() bool { return open }}
		var got []Key
		for _, b := range reads {
			got = append(got, d.read([]byte(b))...)
			open = false // Enter has closed it
		}
		if len(got) != len("door")+1 || got[4] != Enter && got[4] != Return {
			t.Errorf("%s: %q", name, got)
		}
		d.quiet()
		if got := d.read([]byte("q")); len(got) != 1 {
			t.Errorf("%s: a key after a pause: %v", name, got)
		}
	}
}

func TestPaste(t *testing.T) {
	t.Parallel()
	text := []byte("this is a quite long text\n")
	d := decoder{typed: true}
	if got := slices.Concat(d.read(text), d.read([]byte("q"))); got != nil {
		t.Errorf("pasted: %v", got)
	}
	if d.timeout() == 0 || d.quiet() != nil {
		t.Error("a paste ends with a silence, which is no key")
	}
	if got := d.read([]byte("q")); !slices.Equal(got, []Key{'q'}) {
		t.Errorf("after the paste: %v", got)
	}
	if got := d.read(bytes.Repeat([]byte("\x1b[C"), 40)); len(got) != 40 {
		t.Errorf("%d keys of 40 that were held down", len(got))
	}
	if got := (&decoder{}).read(text); len(got) != len(text) {
		t.Errorf("%d keys of %d through a pipe", len(got), len(text))
	}
}

// Whatever comes, in whatever parts: the same keys, no more keys than bytes, and after
// a silence all is forgotten.
func FuzzDecode(f *testing.F) {
	for _, table := range sequences {
		for in := range table {
			f.Add([]byte(in), 1)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var whole, parts decoder
		all := whole.read(in)
		cut = max(0, min(cut, len(in)))
		if got := slices.Concat(parts.read(in[:cut]), parts.read(in[cut:])); !slices.Equal(got, all) {
			t.Errorf("%q: %v, cut at %d %v", in, all, cut, got)
		}
		if len(all) > len(in) {
			t.Errorf("%q: %d keys", in, len(all))
		}
		whole.quiet()
		if got := whole.read([]byte("q\x1b[A")); !slices.Equal(got, []Key{'q', Up}) || whole.timeout() != 0 {
			t.Errorf("%q, a silence, then q and up: %v", in, got)
		}
	})
}
