package recorder

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestHowManyMessagesFit: a chunk takes messages up to the one that goes beyond its size,
// and one at least; a topic with a limit no more than are left of it.
func TestHowManyMessagesFit(t *testing.T) {
	t.Parallel()
	const record = 4 + 58 + recordOverhead // of a message
	var run []byte
	for n := range uint32(10) {
		run = append(run, testlink.Frame(1, n, 58)...)
	}
	for name, c := range map[string]struct {
		fill            int
		limit, messages uint64
		want            int
	}{
		"all":                    {fill: 10 * record, want: 10},
		"all, to the end":        {fill: 10*record - 1, want: 10},
		"all but one":            {fill: 9*record - 1, want: 9},
		"one beyond the size":    {fill: 5 * record, want: 6},
		"and not before it":      {fill: 5*record - 1, want: 5},
		"one":                    {fill: 10, want: 1},
		"one, without any room":  {fill: -1, want: 1},
		"as many as are left":    {fill: 10 * record, limit: 20, messages: 13, want: 7},
		"more are left than fit": {fill: 3*record - 1, limit: 20, messages: 13, want: 3},
	} {
		p := bareIntake(-1, 100)
		p.open, p.sealAt = new(memory.Chunk), c.fill
		topic := &topic{tally: tally{messages: c.messages}}
		topic.limit = c.limit
		if n, size := p.fit(topic, run, 10); n != c.want || size != c.want*(4+58) {
			t.Errorf("%s: %d messages of %d bytes, want %d", name, n, size, c.want)
		}
	}
}

// TestWhyAMessageIsLeft: one that nobody asked for counts as nothing, one behind the end of
// the file as lost to the disk, and any other as not recorded.
func TestWhyAMessageIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set          func(*intake, *topic)
		passed, disk uint64
	}{
		"paused":           {func(p *intake, _ *topic) { p.state = StatePaused }, 1, 0},
		"ended":            {func(p *intake, _ *topic) { p.ended = true }, 0, 1},
		"full":             {func(p *intake, _ *topic) { p.atSizeLimit, p.ended = true, true }, 0, 0},
		"enough of it":     {func(p *intake, t *topic) { t.limit, t.messages, p.ended = 3, 3, true }, 0, 0},
		"not enough of it": {func(p *intake, t *topic) { t.limit, t.messages, p.ended = 3, 2, true }, 0, 1},
	} {
		p := bareIntake(-1, 100)
		of := &topic{name: "/t"}
		c.set(p, of)
		p.countUnwanted(&connection{topic: of})
		if of.passed != c.passed || of.dropped[dropDisk] != c.disk {
			t.Errorf("%s: %d passed, %d lost to the disk; want %d and %d", name, of.passed, of.dropped[dropDisk], c.passed, c.disk)
		}
	}
}

// TestLargeMessageBehindASplit: a large message that relies on the record of its connection
// in one file and is complete in the next is followed by the record there, once, also
// if no small message comes any more.
func TestLargeMessageBehindASplit(t *testing.T) {
	t.Parallel()
	info := testlink.Info("/scan", "/p")
	for i := range info.Header {
		if info.Header[i].Key == "message_definition" {
			info.Header[i].Value = strings.Repeat("uint32 n\n", 2000) // much, so that each message relies on one
		}
	}
	for name, splits := range map[string]int{"no split": 0, "a split": 1, "two": 2} {
		p := testPipeline(t, Options{Split: true, Sync: SyncNone}, nil)
		l, err := p.openLink(p.addTopic("/scan"), info)
		if err != nil {
			t.Fatal(err)
		}
		publish := func(n uint32, split int) {
			f := testlink.Frame(1, n, 200_000)
			m := l.Large(len(f))
			for range split {
				p.mu.Lock()
				p.rotate(time.Now())
				p.mu.Unlock()
			}
			testlink.Fill(m, f)
			m.Commit(time.Now())
		}
		l.Frames(testlink.Frame(1, 0, 100), 1, time.Now())
		publish(1, splits)
		publish(2, 0)
		closePipeline(t, p)
		if got := accountOf(l).recorded; got != 3 {
			t.Errorf("%s: %d messages, want 3", name, got)
		}
		l.in.mu.Lock()
		if want := uint64(100 + 2*200_000); l.connection.topic.bytes != want {
			t.Errorf("%s: %d bytes, want %d", name, l.connection.topic.bytes, want)
		}
		l.in.mu.Unlock()
		paths := files(t, p)
		if len(paths) != splits+1 {
			t.Fatalf("%s: files %v", name, paths)
		}
		b, err := os.ReadFile(paths[splits])
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("message_definition=uint32 n\nuint32 n\n")); n != 2 {
			t.Errorf("%s: the last file has %d connection records, want one in a chunk and one in the index", name, n)
		}
	}
}
