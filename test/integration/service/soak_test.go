package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
	"github.com/gorosbag/gorosbag/test/load"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// soakTime returns how long TestSoak runs: what `make soak` asks for, or else long enough to
// see that it works.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("GOROSBAG_SOAK")
	if text == "" {
		harness.Long(t, "takes half a minute; make soak runs it for half an hour")
		return 30 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSoak is months of service in little: splits every two seconds, publishers and topics
// that come and go, a master that restarts, pauses, snapshots, and a store that refuses one
// request of three. Nothing is lost, and the recorder needs no more memory, descriptors and
// goroutines in the last third of the time than in the first, see checkGrowth.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := soakTime(t)
	store, g := s3.New(t), harness.NewGraph(t, "gomaster")
	store.RefuseOneOf(3)
	s := &soak{g: g, web: "127.0.0.1:" + harness.FreePort(t), sent: map[string]int{}, period: max(length/30, 5*time.Second)}
	s.recorder = uploader(g, store, "-a", "-O", "out", "--split", "--duration", "2", "--snapshot-beside", "--pre-roll", "3s", "-b", "64",
		"--http", s.web, "--upload-wait", "5m", "__name:=rec")
	s.steady(peers.Node(g, "steady"))
	audience := s.admit()

	topics := max(int(length/(12*time.Second)), 2) // all of them come and go before warm
	begin := time.Now()
	warm := begin.Add(length / 6)
	var samples []usage // since warm
	for n := 0; time.Since(begin) < length || len(samples) < leastSamples; n++ {
		s.visitor(fmt.Sprintf("/come/and/go_%d", n%topics))
		s.visitor("/regular") // another publisher each time
		s.now("snapshot", 7*time.Second, func() { s.post("snapshot") })
		s.now("pause", 11*time.Second, s.pause)
		s.now("master", s.period, s.restartMaster)
		s.now("log", s.period, func() { t.Log(time.Since(begin).Round(time.Second), s.measure()) })
		if time.Now().After(warm) {
			s.now("sample", length/100, func() { samples = append(samples, s.measure()) })
		}
	}
	s.stopSteady()
	audience.leave()
	checkGrowth(t, samples)
	s.checkState()
	store.RefuseOneOf(0) // what waits is uploaded at the end
	s.recorder.Signal(syscall.SIGINT)
	s.recorder.Ended(0)
	s.checkFindings()
	s.checkBags(store)
}

// checkFindings checks that nobody was alarmed: the recorder was paused and the master away, but no topic was silent or
// stamped wrongly. That /steady is slow is true where the machine is: it is held during a pause.
func (s *soak) checkFindings() {
	for line := range strings.Lines(s.recorder.Out.String()) {
		if strings.Contains(line, "a topic is silent") || strings.Contains(line, "/regular") && strings.Contains(line, "a topic is slow") || strings.Contains(line, "the stamps of a topic") {
			s.g.T.Error(line)
		}
	}
}

// soak is the state of TestSoak.
type soak struct {
	g          *harness.Graph
	recorder   *harness.Process
	web        string // address of the recorder's HTTP interface
	period     time.Duration
	last       map[string]time.Time // when each recurring action ran, by name
	sent       map[string]int       // messages by topic; /steady is in it at the end
	hold       sync.Mutex           // held while /steady must not publish
	stopSteady func()
}

// audience is who looks at the recorder: viewers of all topics and pages that follow its state.
type audience struct {
	t        *testing.T
	seen     []*audienceMember
	leaveAll context.CancelFunc
	all      sync.WaitGroup
}

// audienceMember is a viewer or a page, or those that follow each other at one place.
type audienceMember struct {
	name   string
	stays  bool         // until the audience leaves
	bytes  atomic.Int64 // received
	visits atomic.Int64
}

// admit lets two viewers and two pages look at the recorder: one of each stays, the other leaves after three
// seconds and comes back.
func (s *soak) admit() *audience {
	ctx, cancel := context.WithCancel(s.g.T.Context())
	a := &audience{t: s.g.T, leaveAll: cancel}
	s.g.T.Cleanup(cancel)
	view := func(ctx context.Context, bytes *atomic.Int64) { viewer.Count(ctx, s.web, viewer.Options{}, bytes) }
	follow := func(ctx context.Context, bytes *atomic.Int64) { followEvents(ctx, s.web, bytes) }
	a.place(ctx, "a viewer that stays", 0, view)
	a.place(ctx, "viewers that leave", 3*time.Second, view)
	a.place(ctx, "a page that stays", 0, follow)
	a.place(ctx, "pages that leave", 3*time.Second, follow)
	return a
}

// place lets somebody look for a while, again and again until the audience leaves; 0 is until then.
func (a *audience) place(ctx context.Context, name string, stay time.Duration, look func(context.Context, *atomic.Int64)) {
	m := &audienceMember{name: name, stays: stay == 0}
	a.seen = append(a.seen, m)
	a.all.Go(func() {
		for ctx.Err() == nil {
			visit, cancel := ctx, func() {}
			if !m.stays {
				visit, cancel = context.WithTimeout(ctx, stay)
			}
			m.visits.Add(1)
			look(visit, &m.bytes)
			cancel()
		}
	})
}

// leave ends all looking and checks that each has seen something, and that nobody who wanted to stay was sent away.
func (a *audience) leave() {
	a.t.Helper()
	a.leaveAll()
	a.all.Wait()
	for _, m := range a.seen {
		a.t.Logf("%s: %d visits, %d bytes", m.name, m.visits.Load(), m.bytes.Load())
		if m.bytes.Load() == 0 {
			a.t.Errorf("%s: nothing was seen", m.name)
		}
		if m.stays && m.visits.Load() > 1 {
			a.t.Errorf("%s: was sent away %d times", m.name, m.visits.Load()-1)
		}
	}
}

// followEvents reads the state as a page does until ctx ends or the recorder ends the stream.
func followEvents(ctx context.Context, host string, bytes *atomic.Int64) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/api/v1/events", http.NoBody)
	if err != nil {
		panic(err) // the address is ours
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	buf := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = resp.Body.Read(buf)
		bytes.Add(int64(n))
	}
}

// now runs an action if its last run was at least every ago.
func (s *soak) now(name string, every time.Duration, action func()) {
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	last, ok := s.last[name]
	if !ok {
		s.last[name] = time.Now() // the first run after the first interval
		return
	}
	if time.Since(last) >= every {
		action()
		s.last[name] = time.Now()
	}
}

// steady publishes numbered messages a hundred times a second until stopSteady is called.
func (s *soak) steady(n *tcpros.Node) {
	pub := peers.Advertise(s.g, n, "/steady", false)
	s.g.Eventually("the recorder listens to /steady", func() bool { return pub.Subscribers() > 0 })
	source := pub.Source(false)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			s.hold.Lock()
			source.Publish(peers.StringFrame(fmt.Sprintf("%06d%0900d", s.sent["/steady"], 0)))
			s.sent["/steady"]++
			s.hold.Unlock()
		}
	}()
	s.stopSteady = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	s.g.T.Cleanup(s.stopSteady)
}

// visitor publishes twenty messages and leaves.
func (s *soak) visitor(topic string) {
	s.g.T.Helper()
	ctx, cancel := context.WithTimeout(s.g.T.Context(), harness.Timeout)
	defer cancel()
	pub, err := load.Advertise(ctx, "127.0.0.1:"+s.g.Port, "/visitor", topic)
	if err != nil {
		s.g.T.Fatal(err)
	}
	const count = 20
	err = pub.Pace(ctx, 500, count, time.Millisecond, func(int) {})
	if closed := pub.Close(); err != nil || closed != nil {
		s.g.T.Fatalf("%s: %v, %v", topic, err, closed)
	}
	s.hold.Lock()
	s.sent[topic] += count
	s.hold.Unlock()
}

// recordState is what the test reads of the recorder.
type recordState struct {
	State   string `json:"state"`
	Dropped uint64 `json:"dropped"`
	Missed  uint64 `json:"missed"`
	Topics  []struct {
		Topic    string `json:"topic"`
		Messages int    `json:"messages"`
	} `json:"topics"`
}

// messages returns how many were recorded of a topic.
func (s *recordState) messages(topic string) (n int) {
	for _, t := range s.Topics {
		if t.Topic == topic {
			n += t.Messages
		}
	}
	return n
}

func (s *soak) state() recordState {
	s.g.T.Helper()
	var answer struct {
		State recordState `json:"state"`
	}
	code, _, text := ask(s.g.T, http.MethodGet, "http://"+s.web+"/api/v1/state", "")
	if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK {
		s.g.T.Fatalf("state: %d, %v: %s", code, err, text)
	}
	return answer.State
}

func (s *soak) post(action string) {
	s.g.T.Helper()
	if code, _, text := ask(s.g.T, http.MethodPost, "http://"+s.web+"/api/v1/"+action, ""); code != http.StatusOK {
		s.g.T.Errorf("%s: %d %s", action, code, text)
	}
}

// pause pauses and resumes while nobody publishes.
func (s *soak) pause() {
	s.g.T.Helper()
	s.hold.Lock()
	defer s.hold.Unlock()
	s.g.Eventually("all of /steady has arrived", func() bool {
		state := s.state()
		return state.messages("/steady") == s.sent["/steady"]
	})
	s.post("pause")
	if state := s.state().State; state != "paused" {
		s.g.T.Errorf("%s after pause", state)
	}
	s.post("resume")
}

func (s *soak) restartMaster() {
	s.g.T.Helper()
	s.g.KillMaster()
	s.g.StartMaster()
}

// usage is what the recorder needs at one moment.
type usage struct {
	heap       int64 // bytes that the latest garbage collection has found in use, about
	resident   int64 // bytes
	files      int64
	goroutines int64
	waiting    int64 // bags that wait for their upload
}

var usageLine = regexp.MustCompile(`(?m)^(go_memstats_next_gc_bytes|process_resident_memory_bytes|process_open_fds|go_goroutines|gorecord_uploads_waiting) (\S+)$`)

// measure asks the recorder. The bytes of the heap in use say little: they include the garbage since the latest
// collection, and double until the next. That one is due when the heap has twice the size that the latest
// collection has left, so half of the size for which it waits tells what is alive.
func (s *soak) measure() (u usage) {
	s.g.T.Helper()
	_, _, text := ask(s.g.T, http.MethodGet, "http://"+s.web+"/metrics", "")
	into := map[string]*int64{
		"go_memstats_next_gc_bytes": &u.heap, "process_resident_memory_bytes": &u.resident, "process_open_fds": &u.files, "go_goroutines": &u.goroutines,
		"gorecord_uploads_waiting": &u.waiting,
	}
	lines := usageLine.FindAllStringSubmatch(text, -1)
	if len(lines) != len(into) {
		s.g.T.Fatalf("want one line of each metric, got %q", lines)
	}
	for _, m := range lines {
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			s.g.T.Fatal(err)
		}
		*into[m[1]] = int64(n)
	}
	u.heap /= 2
	return u
}

func (u usage) String() string {
	return fmt.Sprintf("heap %.2f MiB, resident %.1f MiB, %d descriptors, %d goroutines, %d bags wait",
		float64(u.heap)/(1<<20), float64(u.resident)/(1<<20), u.files, u.goroutines, u.waiting)
}

// lowerQuartiles returns the lower quartile of each figure: a quarter of the samples is below. Garbage that arises
// during a collection counts as alive, the more the busier the machine is, which moves the median.
func lowerQuartiles(samples []usage) usage {
	quartile := func(figure func(usage) int64) int64 {
		all := make([]int64, len(samples))
		for i, u := range samples {
			all[i] = figure(u)
		}
		slices.Sort(all)
		return all[len(all)/4]
	}
	return usage{
		heap:       quartile(func(u usage) int64 { return u.heap }),
		resident:   quartile(func(u usage) int64 { return u.resident }),
		files:      quartile(func(u usage) int64 { return u.files }),
		goroutines: quartile(func(u usage) int64 { return u.goroutines }),
		waiting:    quartile(func(u usage) int64 { return u.waiting }),
	}
}

// leastSamples is how many samples checkGrowth needs: five for each third.
const leastSamples = 15

// What may be more in the last third of the time than in the first.
const (
	// Caches that have a bound fill up: the account of the latest 256 bags, the problems that the limit of the log
	// remembers, buffers of chunks and of connections.
	moreHeap = 512 << 10
	// A collection may find a compressor of 0.8 MiB in use, or the answers of a store. The quartile of few samples
	// varies by that.
	moreHeapOfFew = 512 << 10
	fewSamples    = 20
	// The collector returns pages late.
	moreResident = 8 << 20
	// The SDK of S3 keeps up to ten idle connections for 90 s. One upload needs one; a merge of the catalog, after
	// each 32 uploads, has as many requests under way. A connection has two goroutines.
	moreFiles      = 10 + 2
	moreGoroutines = 2*10 + 4
	// The store refuses so much that bags have to wait. TestWaitingBagsTakeLittleMemory in internal/cloud/upload measures
	// what one of them takes.
	waitingBag = 1 << 10
)

// checkGrowth compares the first third of the samples with the last third, by their lower quartiles.
func checkGrowth(t *testing.T, samples []usage) {
	t.Helper()
	third := len(samples) / 3
	heap := int64(moreHeap)
	if third < fewSamples {
		heap += moreHeapOfFew
	}
	first, last := lowerQuartiles(samples[:third]), lowerQuartiles(samples[len(samples)-third:])
	t.Log("first third:", first)
	t.Log("last third: ", last)
	waiting := max(last.waiting-first.waiting, 0) * waitingBag
	most := usage{
		heap: first.heap + heap + waiting, resident: first.resident + moreResident + waiting,
		files: first.files + moreFiles, goroutines: first.goroutines + moreGoroutines, waiting: last.waiting, // counted above
	}
	if last.heap > most.heap || last.resident > most.resident || last.files > most.files || last.goroutines > most.goroutines {
		t.Errorf("the recorder has grown: want at most %v", most)
	}
}

// checkState checks that the recorder knows of no loss.
func (s *soak) checkState() {
	s.g.T.Helper()
	if state := s.state(); state.Dropped+state.Missed > 0 {
		s.g.T.Errorf("%d messages dropped, %d missed", state.Dropped, state.Missed)
	}
}

// checkBags checks that the bags hold what was sent, and the store the bags.
func (s *soak) checkBags(store *s3.Server) {
	s.g.T.Helper()
	names, err := filepath.Glob(filepath.Join(s.g.Dir, "out*.bag"))
	if err != nil {
		s.g.T.Fatal(err)
	}
	got := map[string]int{}
	snapshots := 0
	for _, name := range names {
		base := filepath.Base(name)
		if stored, err := os.Stat(filepath.Join(store.Dir, "robot", base)); err != nil || stored.Size() == 0 {
			s.g.T.Errorf("%s is not in the store: %v", base, err)
		}
		if strings.Contains(base, "snapshot") {
			snapshots++
			continue
		}
		for topic, messages := range bags.Read(s.g.T, name) {
			got[topic] += len(messages.Messages)
		}
	}
	s.g.T.Logf("%d bags, %d of them snapshots", len(names), snapshots)
	for topic, sent := range s.sent {
		if got[topic] != sent {
			s.g.T.Errorf("%s: %d messages in the bags, %d were sent", topic, got[topic], sent)
		}
	}
}
