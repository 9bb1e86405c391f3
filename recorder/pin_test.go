package recorder

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestPin: files of the last minutes stay, the one that is written among them, and do
// not push others out.
func TestPin(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Retain: Retention{Files: 1}})
	l := open(t, p, "/t", "/p")
	cut := func() {
		l.Frames(testlink.Frame(1, 0, 10), 1, time.Now())
		if _, err := c.Split(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cut() // 0
	cut() // 1: 0 goes
	pinned, err := c.Pin(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if got := bases(pinned); !slices.Equal(got, []string{"test_1.bag", "test_2.bag"}) {
		t.Errorf("pinned: %v", got)
	}
	for range 3 { // 2, 3, 4: 3 goes
		cut()
	}
	if again, err := c.Pin(t.Context(), 0); err != nil || !slices.Equal(bases(again), []string{"test_5.bag"}) {
		t.Errorf("pinned of no time at all: %v, %v; the file that is written belongs to it", again, err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, b := range p.Bags.Finished.List() {
		if testlink.Exists(b.Place.Target()) {
			left = append(left, filepath.Base(b.Place.Target()))
		}
	}
	if want := []string{"test_1.bag", "test_2.bag", "test_4.bag", "test_5.bag"}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
}

// TestPinDoesNotWaitForADeletion: neither does the writer, which tells of a file that it
// begins.
func TestPinDoesNotWaitForADeletion(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Split: true, Retain: Retention{KeepFree: 1}})
	asked, hangs, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	p.Bags.Retain.Free = func() (int64, error) {
		once()
		<-hangs
		return 1, nil
	}
	go func() {
		defer close(over)
		p.Bags.Retain.Enforce(time.Now())
	}()
	<-asked
	if files, err := c.Pin(t.Context(), time.Hour); err != nil || len(files) != 1 {
		t.Errorf("pinned: %v, %v", files, err)
	}
	close(hangs)
	<-over
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}
