package codec

import (
	"errors"
	"slices"
	"testing"
)

// TestPause asks once for each 4 MiB that are searched, and passes on what it is told.
func TestPause(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	stop := errors.New("stop")
	var asked []int
	at := 0
	p := Pause{Interrupted: func() error {
		if asked = append(asked, at); at > 10*mib {
			return stop
		}
		return nil
	}}
	for _, at = range []int{0, 1, 4*mib - 1, 4 * mib, 5 * mib, 9 * mib, 13*mib - 1} {
		if err := p.Reached(at); err != nil {
			t.Errorf("at %d: %v", at, err)
		}
	}
	at = 13 * mib
	if err := p.Reached(at); !errors.Is(err, stop) {
		t.Errorf("got %v, want what the function returned", err)
	}
	if want := []int{0, 4 * mib, 9 * mib, 13 * mib}; !slices.Equal(asked, want) {
		t.Errorf("asked at %v, want %v", asked, want)
	}
}
