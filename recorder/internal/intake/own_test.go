package intake

import (
	"errors"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// openMarks opens the link of marks.
func openMarks(t *testing.T, in *Intake) *Link {
	t.Helper()
	l, err := in.OpenMarks("/marks", OwnType{Name: "std_msgs/String"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestMarkOfThePastAfterTheEndOfAFile: a mark that comes when the next file is due begins that file, and its time is
// not before the file.
func TestMarkOfThePastAfterTheEndOfAFile(t *testing.T) {
	t.Parallel()
	in := queueing(memory.Options{Limit: 8 << 20, ChunkBytes: 100_000}, nil)
	marks, began := openMarks(t, in), time.Now().Add(-2*time.Hour)
	in.mode.Begun, in.rotation = began, rotation.New(rotation.Options{Split: true, Every: time.Hour}, began, 0)
	at, err := in.AppendOwn(marks, testlink.Frame(1, 0, 10), time.Now().Add(-30*time.Second), true)
	if err != nil {
		t.Fatal(err)
	}
	if part, begun := in.rotation.Part(), in.rotation.Begun(); part != 1 || at.Before(begun) || !marks.connection.HasRecord(1) {
		t.Errorf("file %d; the mark is %v before it", part, begun.Sub(at))
	}
}

// TestMarkThatWaitsIsInItsFile: a mark that waits for room while a file begins is in that file, with a time of that
// file.
func TestMarkThatWaitsIsInItsFile(t *testing.T) {
	t.Parallel()
	in := recording(t, memory.Options{Limit: 8 << 20, ChunkBytes: 100_000, Blocks: true}, nil)
	marks := openMarks(t, in)
	locked(in, func() { in.Buffers.pool.SetBudget(1) })
	var at time.Time
	marked := make(chan error)
	go func() {
		var err error
		at, err = in.AppendOwn(marks, testlink.Frame(1, 0, 10), time.Now(), true)
		marked <- err
	}()
	testlink.WaitFor(t, func() bool { return heldUp(marks) })
	if _, err := in.RequestSplit(time.Now()); err != nil {
		t.Fatal(err)
	}
	var begun time.Time
	locked(in, func() {
		begun = in.rotation.Begun()
		in.Buffers.pool.SetBudget(8 << 20)
	})
	if err := <-marked; err != nil {
		t.Fatal(err)
	}
	if at.Before(begun) || !marks.connection.HasRecord(1) {
		t.Errorf("the mark is %v before the file that it is in", begun.Sub(at))
	}
}

// TestMarkWithoutRoom: a mark that the buffer has no room for is an error.
func TestMarkWithoutRoom(t *testing.T) {
	t.Parallel()
	in := queueing(memory.Options{Limit: 8 << 20, ChunkBytes: 100_000}, nil)
	marks := openMarks(t, in)
	mark := func() error {
		_, err := in.AppendOwn(marks, testlink.Frame(1, 0, 10), time.Now(), true)
		return err
	}
	if err := mark(); err != nil {
		t.Fatal(err)
	}
	executeQueued(t, in)
	in.Buffers.pool.SetBudget(1)
	if err := mark(); !errors.Is(err, control.ErrNoRoom) || marks.connection.Topic().Tally().Messages != 1 {
		t.Errorf("%v; %d marks are recorded", err, marks.connection.Topic().Tally().Messages)
	}
}

// TestMarkThatNobodyAskedFor: without room, such a mark neither waits nor counts as lost.
func TestMarkThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	for _, blocks := range []bool{false, true} {
		in := queueing(memory.Options{Limit: 8 << 20, ChunkBytes: 100_000, Blocks: blocks}, nil)
		marks := openMarks(t, in)
		mark := func() error {
			_, err := in.AppendOwn(marks, testlink.Frame(1, 0, 10), time.Now(), false)
			return err
		}
		if err := mark(); err != nil {
			t.Fatal(err)
		}
		executeQueued(t, in)
		in.Buffers.pool.SetBudget(1)
		if err := mark(); !errors.Is(err, control.ErrNoRoom) || marks.connection.Topic().Tally().Messages != 1 || lost(marks) > 0 {
			t.Errorf("links wait: %t; %v; %d marks are recorded, %d lost", blocks, err, marks.connection.Topic().Tally().Messages, lost(marks))
		}
	}
}
