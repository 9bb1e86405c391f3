package recorder

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

func TestLimitsInThePipeline(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Limits: []Limit{{Topics: "/third", Every: 3}, {Topics: "/few", Count: 4}}}, nil)
	third, few := open(t, p, "/third", "/p"), open(t, p, "/few", "/q")
	for n := uint32(0); n < 30; n += 3 {
		var a, b []byte
		for i := range uint32(3) {
			a, b = append(a, testlink.Frame(1, n+i, 20)...), append(b, testlink.Frame(2, n+i, 20)...)
		}
		third.Frames(a, 3, time.Now())
		few.Frames(b, 3, time.Now())
	}
	if third.Large(1<<20) == nil || third.Large(1<<20) != nil || few.Large(1<<20) != nil {
		t.Error("large messages do not count like others")
	}
	<-p.Limited()
	if s := p.Stats(time.Now()).Topics; s[0].Topic != "/third" || s[0].LeftOut != 21 || s[0].Arrived() != 31 || s[1].LeftOut != 0 {
		t.Errorf("%+v", s)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := testlink.Numbers(t, p.Current().Target())
	if want := []uint32{0, 3, 6, 9, 12, 15, 18, 21, 24, 27}; !slices.Equal(byFile[1], want) || len(byFile[2]) != 4 {
		t.Errorf("the bag holds %v", byFile)
	}
	if topic := accountOf(p, third); topic.LeftOut != 21 || topic.Dropped != nil {
		t.Errorf("%d left out, dropped %v", topic.LeftOut, topic.Dropped)
	}
}

// TestWhichTopicsALimitMeans: a name that is not absolute means the end of names, and the
// limit of all topics holds for each that has none of its own.
func TestWhichTopicsALimitMeans(t *testing.T) {
	t.Parallel()
	limits := (&Options{Limit: 7, Limits: []Limit{{Topics: "image", Count: 3}, {Topics: "/scan", MaxRate: 2}}}).limits()
	accounts := account.New(limits, false)
	for topic, want := range map[string]uint64{"/cam/image": 3, "/image": 3, "/scan": 7, "/cam/scan": 7, "/other": 7} {
		got := accounts.NewTopic(topicname.InGraph(topic))
		if got.Wanted(100) != want || got.KeepsAll() != (topic != "/scan") {
			t.Errorf("%s: %d messages, want %d; keeps all: %v", topic, got.Wanted(100), want, got.KeepsAll())
		}
	}
}

// TestGoneLatchedPublishersLeaveTheRing: of those that came and went the latest ones are remembered,
// and connections of the others released.
func TestGoneLatchedPublishersLeaveTheRing(t *testing.T) {
	t.Parallel()
	p := ringPipeline(t, Options{Snapshot: Snapshot{PreRoll: time.Second}})
	topic := p.AddTopic("/goal", "/goal", time.Time{})
	now := time.Now()
	for n := range uint32(100) {
		now = now.Add(10 * time.Second)
		l, err := p.OpenLink(topic, testlink.LatchedInfo("/goal", fmt.Sprintf("/rostopic_%d", n)))
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(testlink.Frame(1, n, 100), 1, now)
		l.Closed(nil)
		if _, err := p.Pin(t.Context(), now); err != nil { // after the chunk
			t.Fatal(err)
		}
		p.tick(now.Add(5 * time.Second))
	}
	if u := p.Usage(); u.Connections > account.KeptLatched+1 || u.Latched > 16<<10 {
		t.Errorf("%d connections, %d bytes of latched messages; want those of about %d", u.Connections, u.Latched, account.KeptLatched)
	}
	closePipeline(t, p)
}

// TestLargeMessagesBringTheirRecord: of a publisher without small ones the first, which may
// still be given up when it begins, and the next one for all others.
func TestLargeMessagesBringTheirRecord(t *testing.T) {
	t.Parallel()
	info := testlink.LongRecordInfo("/scan", "/p")
	p := testPipeline(t, Options{Sync: SyncNone}, nil)
	l, err := p.OpenLink(p.AddTopic("/scan", "/scan", time.Time{}), info)
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(5) {
		testlink.SendLarge(l, testlink.Frame(1, n, 200_000))
	}
	closePipeline(t, p)
	if n := records(t, p.Current().Target(), info); n != 3 {
		t.Errorf("%d connection records, want two in chunks and one in the index", n)
	}
}

// TestRecordAfterASplit: a file has the record of each of its messages in a chunk, also of a
// large one that began when an earlier file, which has it, was filled.
func TestRecordAfterASplit(t *testing.T) {
	t.Parallel()
	for splits := range 3 {
		info := testlink.LongRecordInfo("/scan", "/p")
		p := testPipeline(t, Options{Split: true, Sync: SyncNone}, nil)
		l, err := p.OpenLink(p.AddTopic("/scan", "/scan", time.Time{}), info)
		if err != nil {
			t.Fatal(err)
		}
		other := open(t, p, "/other", "/p")
		l.Frames(testlink.Frame(1, 0, 100), 1, time.Now())
		f := testlink.Frame(1, 1, 200_000)
		m := l.Large(len(f))
		testlink.Fill(m, f)
		for range splits {
			if _, err := p.RequestSplit(time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		other.Frames(testlink.Frame(2, 0, 100), 1, time.Now())
		m.Commit(time.Now())
		closePipeline(t, p)
		paths := filesOf(t, p)
		if len(paths) != splits+1 {
			t.Fatalf("%d splits: files %v", splits, paths)
		}
		if n := records(t, paths[splits], info); n != 2 {
			t.Errorf("%d splits: the last file has %d connection records, want one in a chunk and one in the index", splits, n)
		}
	}
}

// TestLargeMessageAfterASplit: a large message that relies on the record of its connection
// in one file and is complete in the next is followed by the record there, once, also
// if no small message comes any more.
func TestLargeMessageAfterASplit(t *testing.T) {
	t.Parallel()
	info := testlink.LongRecordInfo("/scan", "/p")
	for name, splits := range map[string]int{"no split": 0, "a split": 1, "two": 2} {
		p := testPipeline(t, Options{Split: true, Sync: SyncNone}, nil)
		l, err := p.OpenLink(p.AddTopic("/scan", "/scan", time.Time{}), info)
		if err != nil {
			t.Fatal(err)
		}
		publish := func(n uint32, split int) {
			f := testlink.Frame(1, n, 200_000)
			m := l.Large(len(f))
			for range split {
				if _, err := p.RequestSplit(time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			testlink.Fill(m, f)
			m.Commit(time.Now())
		}
		l.Frames(testlink.Frame(1, 0, 100), 1, time.Now())
		publish(1, splits)
		publish(2, 0)
		closePipeline(t, p)
		if got := accountOf(p, l).Messages; got != 3 {
			t.Errorf("%s: %d messages, want 3", name, got)
		}
		if got, want := accountsNow(p)[0].Bytes, uint64(100+2*200_000); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
		paths := filesOf(t, p)
		if len(paths) != splits+1 {
			t.Fatalf("%s: files %v", name, paths)
		}
		if n := records(t, paths[splits], info); n != 2 {
			t.Errorf("%s: the last file has %d connection records, want one in a chunk and one in the index", name, n)
		}
	}
}

// TestLimitsThatMakeNoSense are refused.
func TestLimitsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit Limit
		ok    bool
	}{
		"no limit at all":   {Limit{Topics: "/a"}, true},
		"highest rate":      {Limit{Topics: "/a", MaxRate: 1e9}, true},
		"rate above":        {Limit{Topics: "/a", MaxRate: 1e9 + 1}, false},
		"negative rate":     {Limit{Topics: "/a", MaxRate: -0.1}, false},
		"rate is no number": {Limit{Topics: "/a", MaxRate: math.NaN()}, false},
		"each one":          {Limit{Topics: "/a", Every: 1}, true},
		"each minus first":  {Limit{Topics: "/a", Every: -1}, false},
		"one":               {Limit{Topics: "/a", Count: 1}, true},
		"minus one":         {Limit{Topics: "/a", Count: -1}, false},
		"topics of no name": {Limit{Count: 1}, false},
	} {
		if err := c.limit.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
