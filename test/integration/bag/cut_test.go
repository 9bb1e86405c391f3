package bag_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestCutKeepsLatched plays cuts of bags. Subscribers get the latched messages that were valid at
// that time of the whole bag.
func TestCutKeepsLatched(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]func(*harness.Graph) string{
		"demo": func(g *harness.Graph) string { return harness.DemoBag(g.T) },
		"two": func(g *harness.Graph) string {
			g.MakeBag("whole.bag",
				harness.Spoken{Topic: "/tf_static", Node: "/base", Latching: true, Text: "base"},
				harness.Spoken{Topic: "/tf_static", Node: "/arm", Latching: true, At: 100 * time.Millisecond, Text: "arm"},
				harness.Spoken{Topic: "/tf_static", Node: "/base", Latching: true, At: 200 * time.Millisecond, Text: "base and camera"},
				harness.Spoken{Topic: "/odom", Node: "/base", At: 300 * time.Millisecond, Text: "1"},
				harness.Spoken{Topic: "/odom", Node: "/base", At: 3 * time.Second, Text: "2"},
				harness.Spoken{Topic: "/tf_static", Node: "/arm", Latching: true, At: 4 * time.Second, Text: "arm with a gripper"},
				harness.Spoken{Topic: "/odom", Node: "/base", At: 5 * time.Second, Text: "3"})
			return filepath.Join(g.Dir, "whole.bag")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			path := whole(g)
			bag := readBag(t, path)
			half := (bag.end.Sub(bag.start) / 2).Truncate(time.Millisecond)
			start := fmt.Sprintf("+%.3fs", half.Seconds())
			run(g, "gobag", "filter", "-q", "--start", start, path, "cut.bag")
			run(g, "gobag", "filter", "-q", "--no-latched", "--start", start, path, "bare.bag")
			run(g, "gobag", "split", "-q", "--duration", fmt.Sprintf("%.3f", half.Seconds()), path, "part")

			const after = time.Millisecond // of the cut: a message at the start itself comes when play goes on
			at := half + after
			want := bag.latchedAt(at)
			if len(want) == 0 {
				t.Fatalf("nothing is latched at %v", at)
			}
			for played, from := range map[string]time.Duration{path: at, "cut.bag": after, "part_001.bag": after} {
				hears(g, played, from, bag.latching(), want)
			}
			if got := readBag(t, filepath.Join(g.Dir, "bare.bag")).latchedAt(after); len(got) > 0 {
				t.Errorf("--no-latched has %v", got)
			}
		})
	}
}

// run runs a program that has to succeed.
func run(g *harness.Graph, program string, args ...string) {
	g.T.Helper()
	if out, err := g.Command(program, args...).CombinedOutput(); err != nil {
		g.T.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

// loaded are the messages of a bag by time.
type loaded struct {
	start, end bagfmt.Time
	messages   []bagfmt.Message
}

func readBag(t *testing.T, path string) loaded {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := loaded{start: r.Start(), end: r.End()}
	c := r.Cursor(bagfmt.Query{})
	defer c.Close()
	for {
		m, err := c.Next()
		if errors.Is(err, io.EOF) {
			return l
		}
		if err != nil {
			t.Fatal(err)
		}
		l.messages = append(l.messages, *m)
	}
}

// latching returns the topics with latching publishers.
func (l loaded) latching() []string {
	topics := map[string]bool{}
	for _, m := range l.messages {
		if m.Conn.Header.Latching() {
			topics[m.Conn.Topic] = true
		}
	}
	return slices.Sorted(maps.Keys(topics))
}

// latchedAt returns the latest message of each latching publisher.
func (l loaded) latchedAt(at time.Duration) []string {
	last := map[string]string{}
	for _, m := range l.messages {
		if m.Conn.Header.Latching() && m.Time.Sub(l.start) <= at {
			last[m.Conn.Topic+" "+m.Conn.Header.CallerID()] = fmt.Sprintf("%s %x", m.Conn.Topic, m.Data())
		}
	}
	return slices.Sorted(maps.Values(last))
}

// hears plays a bag from a place on, and waits until a subscriber that comes while play pauses
// there has what is latched.
func hears(g *harness.Graph, path string, from time.Duration, topics, want []string) {
	g.T.Helper()
	play := g.Start("goplay", path, "-k", "--pause", "--start", fmt.Sprintf("%.3f", from.Seconds()), "__name:=player")
	defer play.Stop()
	ear := g.Listen("late", topics...)
	defer func() { _ = ear.Node.Close(g.T.Context()) }()
	var got []string
	g.Eventually("what is latched in "+filepath.Base(path), func() bool {
		got = nil
		for _, c := range ear.Caught() {
			got = append(got, fmt.Sprintf("%s %x", c.Topic, c.Data))
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	}, func() string { return fmt.Sprintf("got %.2000q\nwant %.2000q", got, want) })
}
