package disk

import (
	"errors"
	"math"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// watchedSpace is a disk of which least bytes have to stay free. Each call of look is a second
// later and finds so many bytes free, with so many more written than before.
func watchedSpace(least int64) (d *Space, look func(free, written int64), logs *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	var have int64
	d = NewSpace(least, "1G", nil, func() (int64, error) { return have, nil }, zap.New(core))
	now, all := time.Now(), int64(0)
	look = func(free, written int64) {
		have, all, now = free, all+written, now.Add(time.Second)
		d.Check(now, all, 0, "x.bag")
	}
	return d, look, logs
}

// TestLittleSpaceIsSaidOnce, below five times what has to stay free, and again after there
// was more.
func TestLittleSpaceIsSaidOnce(t *testing.T) {
	t.Parallel()
	_, look, logs := watchedSpace(1000)
	for i, c := range []struct {
		free int64
		said int // until then
	}{{5000, 0}, {4999, 1}, {4999, 1}, {4000, 1}, {4999, 1}, {5000, 1}, {4999, 2}} {
		look(c.free, 0)
		if got := logs.FilterMessageSnippet("Less than 5 x").Len(); got != c.said {
			t.Errorf("look %d, %d free: said %d times, want %d", i, c.free, got, c.said)
		}
	}
}

// TestLittleTimeIsSaidOnce, below ten minutes, and again after there were more than twenty.
func TestLittleTimeIsSaidOnce(t *testing.T) {
	t.Parallel()
	const least, rate = 1000, 1000
	d, look, logs := watchedSpace(least)
	for range 10 {
		look(1e9, rate)
	}
	for i, c := range []struct {
		left int64 // seconds
		said int   // until then
	}{{600, 0}, {599, 1}, {598, 1}, {1200, 1}, {599, 1}, {1201, 1}, {599, 2}} {
		look(least+c.left*rate, rate)
		if got := logs.FilterMessageSnippet("full soon").Len(); got != c.said {
			t.Errorf("look %d, %d s left: said %d times, want %d", i, c.left, got, c.said)
		}
		if _, left := d.Forecast(); left.Seconds() != float64(c.left) {
			t.Errorf("look %d: %v left, want %d s", i, left, c.left)
		}
	}
	_, look, logs = watchedSpace(least)
	for range 20 {
		look(10_000, 0)
	}
	if logs.FilterMessageSnippet("full soon").Len() != 0 {
		t.Error("said of a disk to which nothing is written")
	}
}

// TestRateOfTheSlowest: a byte a second fills a disk, too. A look without time in between
// says nothing about the rate.
func TestRateOfTheSlowest(t *testing.T) {
	t.Parallel()
	d, look, _ := watchedSpace(1)
	for range 10 {
		look(101, 1)
	}
	d.Check(d.at, d.files.bytes+50, 0, "x.bag")
	d.files.bytes -= 50
	look(101, 1)
	if free, left := d.Forecast(); free != 101 || left != 100*time.Second {
		t.Errorf("%d bytes are free for %v, want 101 for 100 s", free, left)
	}
	d, look, _ = watchedSpace(0)
	for range 10 {
		look(0, 1)
	}
	if free, left := d.Forecast(); free != 0 || left != 0 {
		t.Errorf("%d bytes are free for %v, want none", free, left)
	}
}

// TestNoFileWithoutSpace: none is begun with less than what has to stay free and what a file reserves; a disk that does
// not tell stops nothing.
func TestNoFileWithoutSpace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		least, free int64
		err         error
		want        string
	}{
		{1000, 999, nil, "less than 1k of space free on disk: " + ErrMinSpace.Error()},
		{1000, 1000, nil, "1000 bytes of space free on disk, and to begin a bag takes 2098152: " + ErrMinSpace.Error()},
		{1000, 2_098_151, nil, "2098151 bytes of space free on disk, and to begin a bag takes 2098152: " + ErrMinSpace.Error()},
		{1000, 2_098_152, nil, ""},
		{1000, 0, errors.New("a broken disk"), ""},
		{0, 1<<20 - 1, nil, "1048575 bytes of space free on disk, and to begin a bag takes 1048576: " + ErrMinSpace.Error()},
		{0, 1 << 20, nil, ""},
	} {
		d := NewSpace(tc.least, "1k", nil, func() (int64, error) { return tc.free, tc.err }, zap.NewNop())
		switch err := d.Short(); {
		case tc.want == "" && err != nil:
			t.Errorf("%d free, %v: %v", tc.free, tc.err, err)
		case tc.want != "" && (!errors.Is(err, ErrMinSpace) || err.Error() != tc.want):
			t.Errorf("%d free: %v, want %s", tc.free, err, tc.want)
		}
	}
}

// TestTimeLeftIsBounded: a disk that fills ever so slowly does so in a hundred years at most.
func TestTimeLeftIsBounded(t *testing.T) {
	t.Parallel()
	d := Space{freeBytes: 1 << 62, files: flow{rate: 1}}
	if left := d.left(); left != 100*365*24*time.Hour {
		t.Errorf("%v are left", left)
	}
}

// TestSnapshotsFillTheDisk as fast as they come in the long run: a snapshot at once is no reason to
// say that the disk is full in a minute, and snapshots that come again and again count.
func TestSnapshotsFillTheDisk(t *testing.T) {
	t.Parallel()
	const free, snapshot, rate = 100_000_000, 10_000_000, 10_000
	core, logs := observer.New(zap.InfoLevel)
	d := NewSpace(0, "0", nil, func() (int64, error) { return free, nil }, zap.New(core))
	now, files, snaps := time.Now(), int64(0), int64(0)
	look := func(n int64) (left time.Duration) {
		now, files, snaps = now.Add(time.Second), files+rate, snaps+n
		d.Check(now, files, snaps, "x.bag")
		_, left = d.Forecast()
		return left
	}
	for range 20 {
		look(0)
	}
	if left := look(0); left != free/rate*time.Second {
		t.Errorf("%v left without snapshots", left)
	}
	if left := look(snapshot); left < time.Hour || left > 2*time.Hour {
		t.Errorf("%v left after a snapshot", left) // it is a tenth of the disk: 10 MB in 10 minutes are 17 kB/s
	}
	for range 3600 {
		look(0)
	}
	if left := look(0); left < 99*free/rate*time.Second/100 {
		t.Errorf("%v left an hour after a snapshot", left)
	}
	var left time.Duration
	for i := range 3600 { // every ten seconds: 1 MB/s
		n := int64(0)
		if i%10 == 0 {
			n = snapshot
		}
		left = look(n)
	}
	if want := free / (snapshot/10 + rate) * time.Second; left < want*95/100 || left > want*105/100 {
		t.Errorf("%v left with a snapshot every ten seconds, want %v", left, want)
	}
	if said := logs.FilterMessageSnippet("full soon").Len(); said != 1 {
		t.Errorf("said %d times that the disk is full soon, want once", said)
	}
}

// TestForecastWithLimits: limits on old bags that delete nothing before the disk is full are no reason to say nothing.
func TestForecastWithLimits(t *testing.T) {
	t.Parallel()
	const free, least, rate = 64_000, 4_000, 1000
	for name, tc := range map[string]struct {
		deletion control.Deletion
		left     time.Duration
		warned   bool // at the start, about the limit
	}{
		"no limits":             {control.Deletion{}, time.Minute, false},
		"more than the disk":    {control.Deletion{Limited: true, Bytes: 50e9, Time: math.MaxInt64}, time.Minute, true},
		"one byte more":         {control.Deletion{Limited: true, Bytes: free - least + 1, Time: math.MaxInt64}, time.Minute, true},
		"as much as the disk":   {control.Deletion{Limited: true, Bytes: free - least, Time: math.MaxInt64}, -1, false},
		"an hour":               {control.Deletion{Limited: true, Bytes: math.MaxInt64, Time: time.Hour}, time.Minute, false},
		"a minute":              {control.Deletion{Limited: true, Bytes: math.MaxInt64, Time: time.Minute}, -1, false},
		"keep free":             {control.Deletion{Limited: true}, -1, false},
		"uploads are awaited":   {control.Deletion{Floor: 34_000}, 30 * time.Second, false},
		"awaited until the end": {control.Deletion{Floor: 1000}, time.Minute, false},
	} {
		core, logs := observer.New(zap.InfoLevel)
		d := NewSpace(least, "4k", func(time.Time) control.Deletion { return tc.deletion }, func() (int64, error) { return free, nil }, zap.New(core))
		now := time.Now()
		for n := range int64(9) {
			d.Check(now.Add(time.Duration(n)*time.Second), n*rate, 0, "x.bag")
		}
		if _, left := d.Forecast(); left != tc.left && (left >= 0 || tc.left >= 0) {
			t.Errorf("%s: %v are left, want %v", name, left, tc.left)
		}
		if n := logs.FilterMessageSnippet("before limits delete").Len(); (n == 1) != tc.warned || n > 1 {
			t.Errorf("%s: warned %d times about the limits, want it once: %v", name, n, tc.warned)
		}
		if n := logs.FilterMessageSnippet("full soon").Len(); (n == 1) != (tc.left >= 0) || n > 1 {
			t.Errorf("%s: said %d times that the disk is full soon", name, n)
		}
	}
}
