package source_test

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

// The span is that of all bags, in any order, and bags without messages do not count.
func TestSpan(t *testing.T) {
	t.Parallel()
	bag := func(at ...time.Duration) []byte {
		return testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", at...)...)
	}
	tests := map[string]struct {
		bags        [][]byte
		first, last time.Duration
		ok          bool
	}{
		"nothing":         {[][]byte{bag()}, 0, 0, false},
		"one":             {[][]byte{bag(10, 20)}, 10, 20, true},
		"empty before":    {[][]byte{bag(), bag(10, 20), bag()}, 10, 20, true},
		"in order":        {[][]byte{bag(10, 20), bag(30, 40)}, 10, 40, true},
		"the other order": {[][]byte{bag(30, 40), bag(10, 20)}, 10, 40, true},
		"one in another":  {[][]byte{bag(20, 30), bag(10, 40)}, 10, 40, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, last, ok := source.Span(testplay.OpenBags(t, tc.bags...))
			if ok != tc.ok || ok && (first != testplay.Base.Add(tc.first) || last != testplay.Base.Add(tc.last)) {
				t.Errorf("got %v to %v, %v", first, last, ok)
			}
		})
	}
}
