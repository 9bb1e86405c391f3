package wording_test

import (
	"testing"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 messages were", 1: "1 message was", 2: "2 messages were", -1: "-1 messages were"} {
		if got := wording.Plural(n, "message") + " " + wording.Were(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
