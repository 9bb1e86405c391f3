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

func TestDiskWatch(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	var free int64
	var err error
	d := Space{min: 1000, text: "1G", log: zap.New(core), Full: make(chan struct{}), Free: func() (int64, error) { return free, err }}
	now := time.Now()
	step := func(have int64, fault error, want bool) {
		t.Helper()
		free, err = have, fault
		now = now.Add(time.Second)
		if full := d.Check(now, d.files.bytes+100, 0, "x.bag"); full != want {
			t.Errorf("%d free: full is %v", have, full)
		}
	}
	step(10_000, nil, false)
	step(4900, nil, false)
	step(4000, nil, false) // said once
	step(0, errors.New("gone"), false)
	step(0, errors.New("gone"), false)
	step(10_000, nil, false)
	step(3000, nil, false)
	step(1000, nil, false)
	step(999, nil, true)
	var got []string
	for _, e := range logs.All() {
		text := e.Message
		if left, ok := e.ContextMap()["time left"].(string); ok {
			text += " " + left
		}
		got = append(got, text)
	}
	const few = "Less than 5 x 1G of space free on disk with 'x.bag'. The recording ends at less than 1G (--min-space)."
	want := []string{few + " 39s", "Failed to check filesystem stats", "the disk will be full soon 1m52s", few + " 24s", "Less than 1G of space free on disk with x.bag.active. Disabling recording."}
	if len(got) != len(want) {
		t.Fatalf("logged %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("logged %q, want %q", got[i], want[i])
		}
	}
	if free, left := d.Forecast(); free != 999 || left != 0 {
		t.Errorf("forecast %d, %v", free, left)
	}
	d.deletion = control.Deletion{Limited: true, Bytes: math.MaxInt64}
	if _, left := d.Forecast(); left >= 0 {
		t.Errorf("forecast %v where old files are deleted", left)
	}
	d = Space{log: zap.NewNop(), Free: func() (int64, error) { return 0, nil }}
	if d.Check(now, 0, 0, "x.bag") {
		t.Error("zero does not look")
	}
}
