package rotation

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRoomInAFile: what is written and what is on its way are taken from the size of a
// file; with compression both are estimated by what the last chunks became.
func TestRoomInAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts Rotation
		want  int64
	}{
		"no limit":               {Rotation{stored: 1 << 40}, math.MaxInt64},
		"new":                    {Rotation{ends: Options{MaxBytes: 1000}}, 1000},
		"written and on its way": {Rotation{ends: Options{MaxBytes: 1000}, stored: 400, queued: 250}, 350},
		"exactly its size":       {Rotation{ends: Options{MaxBytes: 1000}, stored: 400, queued: 600}, 0},
		"a byte more":            {Rotation{ends: Options{MaxBytes: 1000}, stored: 401, queued: 600}, -1},
		"halved by compression":  {Rotation{ends: Options{MaxBytes: 1000}, stored: 400, queued: 200, plain: 50, packed: 25}, 1000},
		"compression unknown":    {Rotation{ends: Options{MaxBytes: 1000}, stored: 400, queued: 200, plain: 50}, 400},
		"grown by compression":   {Rotation{ends: Options{MaxBytes: 1000}, stored: 400, queued: 200, plain: 50, packed: 100}, 100},
	} {
		if got := c.parts.Left(); got != c.want {
			t.Errorf("%s: room for %d bytes of chunks, want %d", name, got, c.want)
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
		"without splits":  {Options{Every: minute, At: minute}, nil},
		"by duration":     {Options{Split: true, Every: 4 * minute}, []time.Duration{4 * minute, 8 * minute, 12 * minute, 16 * minute, 20 * minute}},
		"by the wall":     {Options{Split: true, At: 10 * minute}, []time.Duration{3 * minute, 13 * minute}},
		"whichever first": {Options{Split: true, Every: 4 * minute, At: 10 * minute}, []time.Duration{3 * minute, 4 * minute, 8 * minute, 12 * minute, 13 * minute, 16 * minute, 20 * minute}},
	} {
		s := New(c.options, start, 0)
		var got []time.Duration
		for now := time.Duration(0); now <= 20*minute; now += minute {
			for _, d := range []time.Duration{now - 1, now} {
				if d >= 0 && s.Due(start.Add(d)) {
					s.Advance(start.Add(d))
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

// TestIntervalsThatNobodySaw make no files: the grid continues after them, and where it
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
		s := New(Options{Split: true, Every: 10 * time.Second}, start, 0)
		s.stored, s.queued = 5, 7
		s.Advance(start.Add(10*time.Second + late))
		if s.number != 1 || s.stored != 0 || s.queued != 0 || !s.next.Equal(start.Add(next)) {
			t.Errorf("%v late: file %d ends %v after the first began, want file 1 at %v; %d and %d bytes in it", late, s.number, s.next.Sub(start), next, s.stored, s.queued)
		}
	}
	s := New(Options{Split: true, Every: 10 * time.Second}, start, 0)
	s.Advance(start.Add(3 * time.Second)) // by its size, or by hand
	if !s.next.Equal(start.Add(10 * time.Second)) {
		t.Errorf("a file that ended early moved the grid by %v", s.next.Sub(start)-10*time.Second)
	}
}

// TestGridAfterAStop: the intervals count from the new beginning, multiples on the wall as
// ever. Before the first start there is no file.
func TestGridAfterAStop(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 12, 7, 0, 0, time.UTC)
	s := New(Options{Split: true, Every: 25 * time.Minute, At: time.Hour, Stopped: true}, start, 0)
	if s.number != -1 {
		t.Errorf("file %d before the first start", s.number)
	}
	if s.Schedule(start.Add(time.Hour)); s.Due(start.Add(2 * time.Hour)) {
		t.Error("a file ends before the first start")
	}
	s.stored, s.queued = 5, 7
	again := start.Add(3 * time.Hour)
	s.Restart(again)
	if s.number != 0 || s.stored != 0 || s.queued != 0 || !s.next.Equal(again.Add(25*time.Minute)) {
		t.Errorf("file %d ends %v after its start, want file 0 after 25m; %d and %d bytes in it", s.number, s.next.Sub(again), s.stored, s.queued)
	}
	s.Advance(s.next)
	s.Advance(s.next)
	if want := again.Add(53 * time.Minute); !s.next.Equal(want) { // 16:00
		t.Errorf("the file ends at %v, want %v", s.next, want)
	}
	plain := New(Options{Split: true, Stopped: true}, start, 0)
	plain.Restart(again)
	if !plain.next.IsZero() {
		t.Errorf("a file without a limit ends at %v", plain.next)
	}
}

// TestStepBackWithTheEnd: the clock on the wall goes back when a file ends by it, as that of
// a zone does. The next file is not shorter for it.
func TestStepBackWithTheEnd(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 12, 7, 0, 0, time.FixedZone("", 3600))
	s := New(Options{Split: true, At: 10 * time.Minute}, start, 0)
	now := start.Add(3 * time.Minute).In(time.FixedZone("", 3600-5*60)) // 12:05 again
	s.Advance(now)
	if got := s.next.Sub(now); got != 15*time.Minute {
		t.Errorf("the next file ends %v later, want 15m, at 12:20", got)
	}
}

// TestChunkCost: a chunk takes its data, 12 bytes for each message in the index, and headers.
func TestChunkCost(t *testing.T) {
	t.Parallel()
	var b chunk.Builder
	for _, n := range []int{1, 7, 100} {
		b.Reset(nil)
		for i := range n {
			b.AppendRun(&rosbag.Connection{Topic: "/t"}, rosbag.Time{Sec: uint32(i)}, binary.LittleEndian.AppendUint32(make([]byte, 0, 14), 10)[:14], 1)
		}
		cost := ChunkCost(&b)
		c, err := b.Seal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if record := int64(len(c.Record)); cost < record || cost > record+100 {
			t.Errorf("%d messages: %d bytes, want %d or a little more", n, cost, record)
		}
	}
}

// TestSplitAtWallClock: at multiples on the local clock, also after it was set; a
// small step back over a boundary does not end a file twice.
func TestSplitAtWallClock(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 35*60) // twice that is no multiple of 20 minutes
	day := time.Date(2026, 11, 21, 12, 0, 0, 0, zone)
	s := New(Options{Split: true, At: 20 * time.Minute}, day.Add(7*time.Minute), 0)
	var ends []string
	at := func(wall time.Duration) {
		now := day.Add(wall)
		if s.Schedule(now); s.Due(now) {
			s.Advance(now)
			ends = append(ends, now.Format("15:04:05"))
		}
	}
	for _, minutes := range []float64{8, 19.9, 20, 20.1, 19.95, 20.2, 39, 41, 41, 200, 201, 100, 101, 119, 121} {
		at(time.Duration(minutes * float64(time.Minute)))
	}
	if want := []string{"12:20:00", "12:41:00", "15:20:00", "14:01:00"}; !slices.Equal(ends, want) {
		t.Errorf("files end at %v, want %v", ends, want)
	}
}

// TestWhatBelongsToTheFile: chunks and latched messages count for the present file only. A chunk
// of the file before may be written after the rotation.
func TestWhatBelongsToTheFile(t *testing.T) {
	t.Parallel()
	s := Rotation{ends: Options{MaxBytes: 1000}, number: 3}
	for _, step := range []struct {
		name         string
		do           func()
		stored, left int64
	}{
		{"queued", func() { s.ChunkQueued(300, rosbag.Time{}, time.Time{}) }, 0, 700},
		{"more queued", func() { s.ChunkQueued(200, rosbag.Time{}, time.Time{}) }, 0, 500},
		{"written", func() { s.Written(3, 300, 300, false) }, 300, 500},
		{"written for the file before", func() { s.Written(2, 100, 100, false) }, 300, 500},
		{"latched messages of the file before", func() { s.Repeated(2, 100) }, 300, 500},
		{"latched messages", func() { s.Repeated(3, 100) }, 400, 400},
		{"many latched messages", func() { s.Repeated(3, 5000) }, 900, -100},
	} {
		step.do()
		if s.Stored() != step.stored || s.Left() != step.left {
			t.Errorf("%s: %d bytes stored, %d left, want %d and %d", step.name, s.Stored(), s.Left(), step.stored, step.left)
		}
	}
}

// TestCompressionOfTheLastChunks: how much fits into the file follows the last few chunks, also
// those of the file before.
func TestCompressionOfTheLastChunks(t *testing.T) {
	t.Parallel()
	s := Rotation{ends: Options{MaxBytes: 1 << 20}, number: 1}
	for _, c := range []struct {
		ratio int64 // bytes of a chunk for each byte in the file
		part  int
	}{{4, 0}, {1, 0}, {10, 0}, {2, 1}} {
		for range 20 {
			s.ChunkQueued(4000, rosbag.Time{}, time.Time{})
			s.Written(c.part, 4000, 4000/c.ratio, true)
		}
		room := s.ends.MaxBytes - s.Stored() - s.queued/c.ratio
		if got := float64(s.Left()) / float64(room); got < 0.95*float64(c.ratio) || got > 1.05*float64(c.ratio) {
			t.Errorf("after chunks compressed to 1/%d, %.2f bytes fit into each that is left", c.ratio, got)
		}
	}
	before := s.Left()
	s.Written(0, 4000, 4000, false)
	if s.Left() != before {
		t.Errorf("a chunk that was not compressed changes the room from %d to %d bytes", before, s.Left())
	}
}
