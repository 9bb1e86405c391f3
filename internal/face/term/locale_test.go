package term_test

import (
	"testing"

	"github.com/gorosbag/gorosbag/internal/face/term"
)

func TestUnicode(t *testing.T) {
	for name, tc := range map[string]struct {
		term, all, ctype, lang string
		want                   bool
	}{
		"nothing said":         {"xterm", "", "", "", true},
		"UTF-8":                {"xterm-256color", "", "", "de_DE.UTF-8", true},
		"utf8":                 {"screen", "", "", "C.utf8", true},
		"C":                    {"xterm", "", "", "C", false},
		"Latin":                {"xterm", "", "", "en_US.ISO-8859-1", false},
		"LC_CTYPE before LANG": {"xterm", "", "C", "en_US.UTF-8", false},
		"LC_ALL before all":    {"xterm", "C.UTF-8", "C", "C", true},
		"the Linux console":    {"linux", "", "", "en_US.UTF-8", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", tc.term)
			t.Setenv("LC_ALL", tc.all)
			t.Setenv("LC_CTYPE", tc.ctype)
			t.Setenv("LANG", tc.lang)
			if got := term.Unicode(); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
