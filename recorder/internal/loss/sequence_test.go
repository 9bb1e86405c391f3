package loss

import (
	"testing"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

func join(parts ...[]uint32) (all []uint32) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestSeqHoles(t *testing.T) {
	t.Parallel()
	fives := make([]uint32, 100) // a relay that passes each fifth
	fourth := []uint32(nil)      // and one that leaves each fifth out
	for i := range fives {
		fives[i] = uint32(5 * i)
		fourth = append(fourth, testlink.Count(uint32(5*i), 4)...)
	}
	tests := map[string]struct {
		seqs []uint32
		want int
	}{
		"none missing":            {testlink.Count(7, 100), 0},
		"one missing":             {join(testlink.Count(7, 10), testlink.Count(18, 10)), 1},
		"many, far apart":         {join(testlink.Count(0, 10), []uint32{110, 210, 310}), 298},
		"none set":                {make([]uint32, 100), 0},
		"too early to tell":       {join(testlink.Count(0, 4), testlink.Count(14, 4)), 0},
		"around zero":             {join(testlink.Count(0xfffffff0, 12), testlink.Count(2, 5)), 6},
		"begins again":            {join(testlink.Count(100, 10), testlink.Count(0, 10), testlink.Count(12, 3)), 2},
		"begins again below":      {join(testlink.Count(100, 10), testlink.Count(115, 3), testlink.Count(0, 10)), 5},
		"begins again at once":    {join(testlink.Count(5, 10), testlink.Count(5, 10), testlink.Count(16, 3)), 1},
		"two sources":             {join(testlink.Count(100, 10), testlink.Count(5, 10), []uint32{110}, testlink.Count(15, 10), []uint32{200}), 0},
		"two sources, next door":  {join(testlink.Count(0, 10), []uint32{12, 11}), 0},
		"two sources, in turn":    {[]uint32{100, 1, 101, 2, 102, 3, 103, 4, 104, 5, 110, 6}, 0},
		"two sources, lower one":  {join(testlink.Count(5, 10), []uint32{100}, testlink.Count(15, 10), []uint32{101, 300}), 0},
		"repeated":                {join(testlink.Count(5, 10), []uint32{14, 30, 50}), 0},
		"passes each fifth":       {fives, 0},
		"leaves each fifth out":   {fourth, 0},
		"from somewhere else":     {join(testlink.Count(5, 10), testlink.Count(1<<25, 10)), 0},
		"and then really missing": {join(testlink.Count(5, 10), testlink.Count(1<<25, 10), testlink.Count(1<<25+11, 5)), 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 3, len(tc.seqs)} {
				var w Sequence
				got := 0
				for rest := tc.seqs; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					run := rest[:min(size, len(rest))]
					got += w.Run(testlink.Numbered(run...), len(run))
				}
				if got != tc.want {
					t.Errorf("in runs of %d: %d missing, want %d", size, got, tc.want)
				}
			}
		})
	}
}

// TestSeqAgain: what was missed while the link was away is seen in the next number.
func TestSeqAgain(t *testing.T) {
	t.Parallel()
	for first, want := range map[uint32]int{10: 0, 15: 5, 0: 0, 9: 0} {
		var w Sequence
		w.Run(testlink.Numbered(testlink.Count(0, 10)...), 10)
		w.reopened()
		got := w.Run(testlink.Numbered(testlink.Count(first, 10)...), 10)
		got += w.Run(testlink.Numbered(first+10, first+12), 2) // also believed afterwards
		if got != want+1 {
			t.Errorf("goes on at %d: %d missing, want %d", first, got, want+1)
		}
	}
}

func TestSeqShortFrames(t *testing.T) {
	t.Parallel()
	var w Sequence
	empty := []byte{0, 0, 0, 0}
	if got := w.Run(append(append(testlink.Numbered(1, 2, 3, 4, 5), empty...), testlink.Numbered(6, 8)...), 8); got != 1 {
		t.Errorf("%d missing, want 1", got)
	}
}

func TestBeginsWithHeader(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"Header header\nfloat64 x":                        true,
		"std_msgs/Header header # with a word":            true,
		"# a picture\n\nuint8 OK=0\n  Header  header\r\n": true,
		"string NAME=Header header\nuint32 n\n":           false,
		"uint32 n\nHeader header\n":                       false,
		"Header h\n":                                      false,
		"Header[] header\n":                               false,
		"my_msgs/Header header\n":                         false,
		"":                                                false,
	}
	for definition, want := range tests {
		if got := Numbered(definition); got != want {
			t.Errorf("%q: %v", definition, got)
		}
	}
}

func BenchmarkSeqWatch(b *testing.B) {
	const n = 1000
	run := testlink.Numbered(testlink.Count(0, n)...)
	var w Sequence
	w.Run(run, n)
	b.ReportAllocs()
	for b.Loop() {
		w.last = 0xffffffff
		w.Run(run, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/message")
}

// missedOf feeds runs of numbers to a fresh watch and returns what is missing in all.
func missedOf(w *Sequence, runs ...[]uint32) (missing int) {
	for _, r := range runs {
		missing += w.Run(testlink.Numbered(r...), len(r))
	}
	return missing
}

// TestGapsFromTheFirstMessageOn: a publisher that drops some of its first messages is
// believed as soon as four numbers in a row have followed, and then those count, too. Until
// then nothing is said, and what goes back in between was no gap.
func TestGapsFromTheFirstMessageOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seqs []uint32
		want int
	}{
		"after the first":              {join(testlink.Count(1, 1), testlink.Count(4, 5)), 2},
		"not proved yet":               {join(testlink.Count(1, 1), testlink.Count(4, 4)), 0},
		"two gaps":                     {join(testlink.Count(1, 2), testlink.Count(4, 3), testlink.Count(10, 5)), 4},
		"and one later":                {join(testlink.Count(1, 1), testlink.Count(4, 5), testlink.Count(10, 1)), 3},
		"begins again before":          {join(testlink.Count(1, 1), testlink.Count(4, 3), testlink.Count(1, 5)), 0},
		"repeated before":              {join(testlink.Count(1, 1), testlink.Count(4, 3), testlink.Count(6, 5)), 0},
		"from somewhere else before":   {join(testlink.Count(1, 2), testlink.Count(3+1<<25, 5)), 0},
		"several sources, seen later":  {join(testlink.Count(1, 1), testlink.Count(4, 5), []uint32{3}, []uint32{100}), 0},
		"a gap as large as may be":     {join(testlink.Count(0, 5), []uint32{4 + seqMost}), seqMost - 1},
		"one number more is no gap":    {join(testlink.Count(0, 5), []uint32{5 + seqMost}), 0},
		"four steps are proof":         {join(testlink.Count(0, 5), []uint32{6}), 1},
		"begins again, with gaps":      {join(testlink.Count(10, 5), []uint32{20, 10}, testlink.Count(21, 5), []uint32{40}), 5 + 10 + 14},
		"the one before those of ours": {join(testlink.Count(10, 5), []uint32{20, 11}, testlink.Count(21, 5), []uint32{40}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := range 3 {
				var w Sequence
				got := 0
				for rest := c.seqs; len(rest) > 0; {
					n := min(1<<(2*size), len(rest))
					got += missedOf(&w, rest[:n])
					rest = rest[n:]
				}
				if got != c.want {
					t.Errorf("in runs of %d: %d missing, want %d", 1<<(2*size), got, c.want)
				}
			}
		})
	}
}

// TestHolesWhileTheLinkWasAway: also of a publisher that was not believed yet. What was
// counted on the link before is not taken back on the next one.
func TestHolesWhileTheLinkWasAway(t *testing.T) {
	t.Parallel()
	var young Sequence
	got := missedOf(&young, testlink.Count(0, 3))
	young.reopened()
	if got += missedOf(&young, testlink.Count(5, 5)); got != 2 {
		t.Errorf("of a young publisher %d are missing, want 2", got)
	}
	var w Sequence
	got = missedOf(&w, testlink.Count(0, 10), testlink.Count(12, 3))
	w.reopened()
	got += missedOf(&w, testlink.Count(15, 3), testlink.Count(20, 3), []uint32{16}) // two sources from here on
	if got != 2 {
		t.Errorf("%d missing, want the 2 of the first link", got)
	}
	if got := missedOf(&w, testlink.Count(100, 10), []uint32{200}); got != 0 {
		t.Errorf("%d missing of numbers that are not its own", got)
	}
}

// TestSmallestNumberedMessages: a payload of four bytes is a number, a shorter one has none.
func TestSmallestNumberedMessages(t *testing.T) {
	t.Parallel()
	var run []byte
	for _, seq := range []byte{0, 1, 2, 3, 4, 6} {
		run = append(run, 4, 0, 0, 0, seq, 0, 0, 0)
		run = append(run, 3, 0, 0, 0, 9, 9, 9)
	}
	var w Sequence
	if got := w.Run(run, 12); got != 1 {
		t.Errorf("%d missing, want 1", got)
	}
}

// TestMessagesWhoseNumbersAreNotRead leave no gap.
func TestMessagesWhoseNumbersAreNotRead(t *testing.T) {
	t.Parallel()
	var w Sequence
	missedOf(&w, testlink.Count(0, 10))
	w.Unseen()
	w.Unseen()
	if got := missedOf(&w, testlink.Count(12, 3)); got != 0 {
		t.Errorf("%d missing, want none", got)
	}
	w.Unseen()
	if got := missedOf(&w, testlink.Count(17, 3)); got != 1 {
		t.Errorf("%d missing, want 1", got)
	}
}
