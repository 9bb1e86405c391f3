package timeline

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// The way back counts the messages of all bags, also if chunks of a bag overlap, and ends at zero.
func TestBack(t *testing.T) {
	t.Parallel()
	const chunk = 4000
	fill := strings.Repeat("x", chunk) // ends a chunk
	nested := []testplay.Message{      // the first of three chunks ends last
		{Conn: testplay.ConnA, At: 0},
		{Conn: testplay.ConnA, At: 10, Text: fill},
		{Conn: testplay.ConnA, At: 3},
		{Conn: testplay.ConnA, At: 4, Text: fill},
		{Conn: testplay.ConnA, At: 5},
	}
	early, late := testplay.Series(testplay.ConnA, "a", 0, 5), testplay.Series(testplay.ConnA, "b", 7)
	place := func(at time.Duration, rank int) transport.Place {
		return transport.Place{Stamp: testplay.Base.Add(at), Rank: rank}
	}
	for name, tc := range map[string]struct {
		bags [][]testplay.Message
		zero time.Duration
		from transport.Place
		n    int
		want transport.Place
		none bool // no message is before from
	}{
		"end of an earlier chunk": {bags: [][]testplay.Message{nested}, from: place(20, 0), n: 1, want: place(10, 0)},
		"inside that chunk":       {bags: [][]testplay.Message{nested}, from: place(20, 0), n: 3, want: place(4, 0)},
		"over all chunks":         {bags: [][]testplay.Message{nested}, from: place(20, 0), n: 5, want: place(0, 0)},
		"more than there are":     {bags: [][]testplay.Message{nested}, from: place(20, 0), n: 6, want: place(0, 0)},
		"the second bag is later": {bags: [][]testplay.Message{early, late}, from: place(20, 0), n: 1, want: place(7, 0)},
		"the first bag is later":  {bags: [][]testplay.Message{late, early}, from: place(20, 0), n: 1, want: place(7, 0)},
		"both bags at once":       {bags: [][]testplay.Message{late, late}, from: place(20, 0), n: 1, want: place(7, 1)},
		"not before zero":         {bags: [][]testplay.Message{early}, zero: 5, from: place(5, 0), n: 1, want: place(5, 0), none: true},
		"one, and then zero":      {bags: [][]testplay.Message{early, late}, zero: 5, from: place(7, 0), n: 2, want: place(5, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bags [][]byte
			for _, messages := range tc.bags {
				bags = append(bags, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...))
			}
			o := New(Options{Workers: 1, Damaged: func(e *control.DamageError) { t.Error(e) }}, planOf(t, plan.Options{}, testplay.OpenBags(t, bags...)...))
			if to, ok := o.Back(testplay.Base.Add(tc.zero), tc.from, tc.n); to != tc.want || ok == tc.none {
				t.Errorf("back at %+v, %v, want %+v", to, ok, tc.want)
			}
		})
	}
}
