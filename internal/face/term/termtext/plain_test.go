package termtext

import "testing"

// TestPlain: what could drive a terminal is quoted, also a byte that is no UTF-8: 0x9b is ESC [
// for many.
func TestPlain(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"": "", "/imu Köln": "/imu Köln", "a\x1b[2J": `"a\x1b[2J"`, "a\x9b2J": `"a\x9b2J"`, "\ufffd": "\ufffd"} {
		if got := Plain(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
