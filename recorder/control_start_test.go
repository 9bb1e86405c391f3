package recorder

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestStartThatCannotBe leaves the recording stopped, and loses nothing.
func TestStartThatCannotBe(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Begin: control.StateStopped})
	l := open(t, p, "/t", "/p")
	taken := p.Bags.Outputs.Next(time.Now())
	if err := os.WriteFile(taken, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "never overwrites") {
		t.Errorf("error %v", err)
	}
	l.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	if got := state(t, c); got != control.StateStopped {
		t.Errorf("state %v", got)
	}
	if err := os.Rename(taken, taken+".old"); err != nil {
		t.Fatal(err)
	}
	if opened, err := c.Start(t.Context()); err != nil || opened != taken {
		t.Errorf("opened %s, %v", opened, err)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := allNumbers(t, filesOf(t, p)); !slices.Equal(got[1], []uint32{1}) || accountOf(p, l).Passed != 1 {
		t.Errorf("the bag holds %v; %d passed", got, accountOf(p, l).Passed)
	}
}

// TestStartOnAFullDisk is refused, and a disk that is full while nothing is written ends
// nothing.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Begin: control.StateStopped, MinSpace: 1000, MinSpaceText: "1000"})
	p.Bags.Disk.Free = func() (int64, error) { return 999, nil }
	if p.LowDisk(time.Now()) {
		t.Error("the recording is to end")
	}
	if name, err := c.Start(t.Context()); !errors.Is(err, ErrMinSpace) {
		t.Errorf("start: %s, %v", name, err)
	}
	p.Bags.Disk.Free = func() (int64, error) { return 1000, nil } // which the bag would reserve at once
	if name, err := c.Start(t.Context()); !errors.Is(err, ErrMinSpace) {
		t.Errorf("start: %s, %v", name, err)
	}
	p.Bags.Disk.Free = func() (int64, error) { return 1000 + 2<<20, nil }
	if _, err := c.Start(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestNextFileThatCannotBe: whoever asked for it is told, and the old one goes on.
func TestNextFileThatCannotBe(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	l := open(t, p, "/t", "/p")
	shut, err := disk.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shut.Close()
	dir := p.Bags.Outputs.Dir
	p.Bags.Outputs.Dir = shut // the writer has nothing to do yet
	l.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	if name, err := c.Split(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("split: %s, %v", name, err)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	p.Bags.Outputs.Dir = dir // nor now
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := bases(filesOf(t, p)); !slices.Equal(got, []string{"test.bag"}) {
		t.Errorf("files %v", got)
	}
	checkCount(t, "in the old file", allNumbers(t, filesOf(t, p)), 1, 2)
}

// TestStopTakesAStartBack: the later command counts, also while the writer is busy.
func TestStopTakesAStartBack(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	g := gate{open: make(chan struct{})}
	p.Current().Wrap(func(f disk.Handle) disk.Handle { g.Handle = f; return g })
	l := open(t, p, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		c.Stop(ctx)
		c.Start(ctx)
	}
	c.Stop(ctx)
	close(g.open)
	if _, err := c.Pin(t.Context(), 0); err != nil { // it is behind all of them
		t.Fatal(err)
	}
	if got := state(t, c); got != control.StateStopped {
		t.Errorf("state %v", got)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := allNumbers(t, filesOf(t, p)); !slices.Equal(got[1], []uint32{0}) || accountOf(p, l).Passed != 1 {
		t.Errorf("the bags hold %v; %d passed", got, accountOf(p, l).Passed)
	}
}
