package recorder

import (
	"math"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
)

// TestRoomInAFile: what is written and what is on its way are taken from the size of a
// file; with compression both are estimated by what the last chunks became.
func TestRoomInAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts rotation
		want  int64
	}{
		"no limit":               {rotation{stored: 1 << 40}, math.MaxInt64},
		"new":                    {rotation{maxBytes: 1000}, 1000},
		"written and on its way": {rotation{maxBytes: 1000, stored: 400, flying: 250}, 350},
		"exactly its size":       {rotation{maxBytes: 1000, stored: 400, flying: 600}, 0},
		"a byte more":            {rotation{maxBytes: 1000, stored: 401, flying: 600}, -1},
		"halved by compression":  {rotation{maxBytes: 1000, stored: 400, flying: 200, built: 50, packed: 25}, 1000},
		"compressed to nothing":  {rotation{maxBytes: 1000, stored: 400, flying: 200, built: 50}, 600},
		"grown by compression":   {rotation{maxBytes: 1000, stored: 400, flying: 200, built: 50, packed: 100}, 100},
	} {
		if got := c.parts.left(); got != c.want {
			t.Errorf("%s: room for %d bytes of chunks, want %d", name, got, c.want)
		}
	}
}

// TestChunksBeforeTheEndOfAFile: a chunk is as long as it is asked for, or as there is room
// in the file. Where that is an estimate a chunk is not shorter than an eighth.
func TestChunksBeforeTheEndOfAFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left       int64
		compressed bool
		want       int
	}{
		{801, false, 800},
		{800, false, 800},
		{799, false, 799},
		{0, false, 0},
		{-1, false, 0},
		{801, true, 800},
		{101, true, 101},
		{99, true, 100},
		{-1, true, 100},
	} {
		p := bareIntake(-1, 800)
		p.rotation.maxBytes, p.rotation.stored = 10_000, 10_000-c.left
		if c.compressed {
			p.encoder.queue = queue.New[*chunk]()
		}
		if got := p.sealLimit(); got != c.want {
			t.Errorf("room for %d, compressed %v: a chunk is sealed beyond %d, want %d", c.left, c.compressed, got, c.want)
		}
	}
}

// TestFileEndsAtItsSize: with its last byte a file is not too long yet; with one more the
// next begins, or the recording ends, and says so once.
func TestFileEndsAtItsSize(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		p := bareIntake(-1, 800)
		p.state = StateRecording
		p.rotation.maxBytes, p.rotation.stored, p.rotation.split = 1000, 1000, split
		p.checkSize(time.Now())
		if p.rotation.number != 0 || p.atSizeLimit {
			t.Errorf("split %v: a file that has its size exactly has ended", split)
		}
		for range 2 {
			p.rotation.stored = 1001
			p.checkSize(time.Now())
		}
		if split && (p.rotation.number != 2 || p.atSizeLimit || len(p.filled) != 0) {
			t.Errorf("with splits: file %d after two ends, full: %v", p.rotation.number, p.atSizeLimit)
		}
		if !split && (p.rotation.number != 0 || !p.atSizeLimit || len(p.filled) != 1) {
			t.Errorf("without: file %d, full: %v, said %d times", p.rotation.number, p.atSizeLimit, len(p.filled))
		}
	}
}

// TestNoNextFile while nothing is recorded, or behind the end.
func TestNoNextFile(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*intake){
		"paused":    func(p *intake) { p.state = StatePaused },
		"stopped":   func(p *intake) { p.state = StateStopped },
		"ended":     func(p *intake) { p.ended = true },
		"full":      func(p *intake) { p.atSizeLimit = true },
		"recording": func(*intake) {},
	} {
		p := bareIntake(-1, 800)
		p.state = StateRecording
		set(p)
		p.nextFile(time.Now())
		if began := p.rotation.number == 1; began != (name == "recording") {
			t.Errorf("%s: the next file began: %v", name, began)
		}
	}
}

// TestWhenFilesEnd: by duration on a grid from the beginning on, by the clock on the wall
// at its multiples, by whichever comes first; never without splits.
func TestWhenFilesEnd(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 12, 7, 0, 0, time.UTC)
	const minute = time.Minute
	for name, c := range map[string]struct {
		options Options
		ends    []time.Duration // since the beginning
	}{
		"never":           {Options{Split: true}, nil},
		"without splits":  {Options{Duration: minute, SplitAt: minute}, nil},
		"by duration":     {Options{Split: true, Duration: 4 * minute}, []time.Duration{4 * minute, 8 * minute, 12 * minute, 16 * minute, 20 * minute}},
		"by the wall":     {Options{Split: true, SplitAt: 10 * minute}, []time.Duration{3 * minute, 13 * minute}},
		"whichever first": {Options{Split: true, Duration: 4 * minute, SplitAt: 10 * minute}, []time.Duration{3 * minute, 4 * minute, 8 * minute, 12 * minute, 13 * minute, 16 * minute, 20 * minute}},
	} {
		s := newRotation(c.options, start, 0)
		var got []time.Duration
		for now := time.Duration(0); now <= 20*minute; now += minute {
			for _, d := range []time.Duration{now - 1, now} {
				if d >= 0 && s.due(start.Add(d)) {
					s.advance(start.Add(d))
					got = append(got, d)
				}
			}
		}
		if len(got) != len(c.ends) {
			t.Errorf("%s: files end at %v, want %v", name, got, c.ends)
			continue
		}
		for i := range got {
			if got[i] != c.ends[i] {
				t.Errorf("%s: files end at %v, want %v", name, got, c.ends)
				break
			}
		}
	}
}

// TestIntervalsThatNobodySaw make no files: the grid goes on behind them, and where it
// would have been.
func TestIntervalsThatNobodySaw(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for late, next := range map[time.Duration]time.Duration{
		0:                  20 * time.Second,
		9 * time.Second:    20 * time.Second,
		10 * time.Second:   30 * time.Second,
		10*time.Second - 1: 20 * time.Second,
		1234 * time.Second: 1250 * time.Second,
	} {
		s := newRotation(Options{Split: true, Duration: 10 * time.Second}, start, 0)
		s.stored, s.flying = 5, 7
		s.advance(start.Add(10*time.Second + late))
		if s.number != 1 || s.stored != 0 || s.flying != 0 || !s.next.Equal(start.Add(next)) {
			t.Errorf("%v late: file %d ends %v after the first began, want file 1 at %v; %d and %d bytes in it", late, s.number, s.next.Sub(start), next, s.stored, s.flying)
		}
	}
	s := newRotation(Options{Split: true, Duration: 10 * time.Second}, start, 0)
	s.advance(start.Add(3 * time.Second)) // by its size, or by hand
	if !s.next.Equal(start.Add(10 * time.Second)) {
		t.Errorf("a file that ended early moved the grid by %v", s.next.Sub(start)-10*time.Second)
	}
}

// TestGridAfterAStop: the intervals count from the new beginning, multiples on the wall as
// ever. Before the first start there is no file.
func TestGridAfterAStop(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 12, 7, 0, 0, time.UTC)
	s := newRotation(Options{Split: true, Duration: 25 * time.Minute, SplitAt: time.Hour, Begin: StateStopped}, start, 0)
	if s.number != -1 {
		t.Errorf("file %d before the first start", s.number)
	}
	s.stored, s.flying = 5, 7
	again := start.Add(3 * time.Hour)
	s.restart(again)
	if s.number != 0 || s.stored != 0 || s.flying != 0 || !s.next.Equal(again.Add(25*time.Minute)) {
		t.Errorf("file %d ends %v after its start, want file 0 after 25m; %d and %d bytes in it", s.number, s.next.Sub(again), s.stored, s.flying)
	}
	s.advance(s.next)
	s.advance(s.next)
	if want := again.Add(53 * time.Minute); !s.next.Equal(want) { // 16:00
		t.Errorf("the file ends at %v, want %v", s.next, want)
	}
	plain := newRotation(Options{Split: true, Begin: StateStopped}, start, 0)
	plain.restart(again)
	if !plain.next.IsZero() {
		t.Errorf("a file without a limit ends at %v", plain.next)
	}
}

// TestStepBackWithTheEnd: the clock on the wall goes back when a file ends by it, as that of
// a zone does. The next file is not shorter for it.
func TestStepBackWithTheEnd(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 12, 7, 0, 0, time.FixedZone("", 3600))
	s := newRotation(Options{Split: true, SplitAt: 10 * time.Minute}, start, 0)
	now := start.Add(3 * time.Minute).In(time.FixedZone("", 3600-5*60)) // 12:05 again
	s.advance(now)
	if got := s.next.Sub(now); got != 15*time.Minute {
		t.Errorf("the next file ends %v later, want 15m, at 12:20", got)
	}
}

// TestChunkCost: a chunk takes its data, 12 bytes for each message in the index, and headers.
func TestChunkCost(t *testing.T) {
	t.Parallel()
	var b bagfmt.ChunkBuilder
	for _, n := range []int{1, 7, 100} {
		b.Reset(nil)
		for i := range n {
			b.AppendRun(testConnection(), bagfmt.Time{Sec: uint32(i)}, frame(0, 0, 10), 1)
		}
		cost := chunkCost(&b)
		c, err := b.Seal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if record := int64(len(c.Record)); cost < record || cost > record+100 {
			t.Errorf("%d messages: %d bytes, want %d or a little more", n, cost, record)
		}
	}
}
