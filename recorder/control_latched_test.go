package recorder

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestLatchedAroundAPause: a bag is of no use without the map that came before the
// recording went on. What was recorded before the pause is not repeated.
func TestLatchedAroundAPause(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 300_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			p, c := controlled(t, Options{Begin: control.StatePaused})
			before, after := latching(t, p, "/map", "/server"), latching(t, p, "/tf_static", "/robot")
			send := func(l *intake.Link, publisher, n uint32) {
				if f := testlink.Frame(publisher, n, size); size > 1000 {
					testlink.SendLarge(l, f)
				} else {
					l.Frames(f, 1, time.Now())
				}
			}
			send(before, 1, 0)
			send(before, 1, 1) // the latest
			if err := c.Resume(); err != nil {
				t.Fatal(err)
			}
			send(after, 2, 0)
			for range 2 {
				if err := errors.Join(c.Pause(), c.Resume()); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			if got := allNumbers(t, filesOf(t, p)); !slices.Equal(got[1], []uint32{1}) || !slices.Equal(got[2], []uint32{0}) {
				t.Errorf("the bag holds %v", got)
			}
			if topic := accountOf(p, before); topic.Repeated != 1 || topic.Passed != 2 || topic.Messages != 0 {
				t.Errorf("%d repeated, %d passed, %d recorded", topic.Repeated, topic.Passed, topic.Messages)
			}
		})
	}
}

// latching opens the link of a latching publisher.
func latching(t testing.TB, p *pipeline, topic, publisher string) *intake.Link {
	t.Helper()
	l, err := p.OpenLink(p.AddTopic(topicname.InBag(topic), topicname.InGraph(topic), time.Time{}), testlink.LatchedInfo(topic, publisher))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestEachBagBeginsWithLatched: also those of a resident recorder, of what came while
// it was stopped.
func TestEachBagBeginsWithLatched(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{Begin: control.StateStopped})
	l := latching(t, p, "/map", "/server")
	l.Frames(testlink.Frame(1, 7, 10), 1, time.Now())
	for range 2 {
		if _, err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if got := bases(filesOf(t, p)); !slices.Equal(got, []string{"test.bag", "test_1.bag"}) {
		t.Errorf("files %v", got)
	}
	if got := allNumbers(t, filesOf(t, p)); !slices.Equal(got[1], []uint32{7, 7}) {
		t.Errorf("the bags hold %v", got)
	}
}

// TestABagAfterAStopStandsAlone: a crash leaves it readable without the one before, and
// its time counts from its beginning.
func TestABagAfterAStopStandsAlone(t *testing.T) {
	t.Parallel()
	p := pipelineSince(t, time.Now().Add(-2*time.Hour), Options{Split: true, Duration: time.Hour}, nil)
	c := controlOf(p, Options{})
	l := open(t, p, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 10), 1, p.begun.Add(time.Second))
	if _, err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	restarted := time.Now()
	if _, err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Frames(testlink.Frame(1, 1, 10), 1, time.Now())
	p.tick(time.Now().Add(p.o.FlushInterval))
	if _, err := c.Pin(t.Context(), 0); err != nil { // it is behind the chunk
		t.Fatal(err)
	}
	if _, byFile := testlink.Numbers(t, p.Current().Path()); !slices.Equal(byFile[1], []uint32{1}) {
		t.Errorf("the open bag holds %v", byFile)
	}
	if p.tick(restarted.Add(time.Hour - 1)); partOf(p) != 1 {
		t.Errorf("file %d is filled less than an hour after the start of file 1", partOf(p))
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}
