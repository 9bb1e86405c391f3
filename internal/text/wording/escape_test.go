package wording_test

import (
	"testing"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "/imu Köln": "/imu Köln", "a\x1b[2J\n": `a\x1b[2J\x0a`, "\u202eb": `\x202eb`, "a\x9b2J": `a\x9b2J`, "\x1b\ufffd\xff": "\\x1b\ufffd\\xff"} {
		if got := wording.Escape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"{\n}\n": "{\n}\n", "\"\x7f\u202eö\"": "\"\\u007f\\u202eö\"", "\U000e0001": `\udb40\udc01`} {
		if got := string(wording.EscapeJSON(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
