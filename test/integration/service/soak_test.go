package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
	"github.com/gorosbag/gorosbag/test/load"
)

// soakTime returns how long TestSoak runs: what `make soak` asks for, or else long enough to
// see that it works.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("GOROSBAG_SOAK")
	if text == "" {
		harness.Long(t, "half a minute of everything at once; make soak runs it for half an hour")
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
// request of three. Nothing is lost, and memory, descriptors and goroutines are at the end
// as after a sixth of the time.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := soakTime(t)
	store, g := s3.New(t), harness.NewGraph(t, "gomaster")
	store.RefuseOneOf(3)
	s := &soak{g: g, web: "127.0.0.1:" + harness.FreePort(t), sent: map[string]int{}, period: max(length/30, 5*time.Second)}
	s.recorder = uploader(g, store, "-a", "-O", "out", "--split", "--duration", "2", "--snapshot-beside", "--pre-roll", "3s", "-b", "64",
		"--http", s.web, "--upload-wait", "5m", "__name:=rec")
	s.steady(peers.Node(g, "steady"))

	topics := max(int(length/(12*time.Second)), 2) // all of them come and go before the first measurement
	begin, first := time.Now(), usage{}
	for n := 0; time.Since(begin) < length; n++ {
		s.visitor(fmt.Sprintf("/come/and/go_%d", n%topics))
		s.visitor("/regular") // another publisher each time
		s.now("snapshot", 7*time.Second, func() { s.post("snapshot") })
		s.now("pause", 11*time.Second, s.pause)
		s.now("master", s.period, s.restartMaster)
		s.now("usage", s.period, func() { t.Log(time.Since(begin).Round(time.Second), s.measure()) })
		if first == (usage{}) && time.Since(begin) > length/6 {
			first = s.measure()
			t.Log("after a sixth:", first)
		}
	}
	s.stopSteady()
	g.Eventually("resources are as after a sixth of the time", func() bool { return s.measure().atMost(first) },
		func() string { return fmt.Sprintf("first %v, now %v", first, s.measure()) })
	t.Log("at the end:", s.measure())
	s.checkState()
	store.RefuseOneOf(0) // what waits is uploaded at the end
	s.recorder.Signal(syscall.SIGINT)
	s.recorder.Ended(0)
	s.checkBags(store)
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

// usage is what the recorder needs.
type usage struct {
	heap       int64 // bytes in use
	resident   int64 // bytes
	files      int64
	goroutines int64
}

var usageLine = regexp.MustCompile(`(?m)^(go_memstats_heap_inuse_bytes|process_resident_memory_bytes|process_open_fds|go_goroutines) (\S+)$`)

func (s *soak) measure() (u usage) {
	s.g.T.Helper()
	_, _, text := ask(s.g.T, http.MethodGet, "http://"+s.web+"/metrics", "")
	into := map[string]*int64{
		"go_memstats_heap_inuse_bytes": &u.heap, "process_resident_memory_bytes": &u.resident, "process_open_fds": &u.files, "go_goroutines": &u.goroutines,
	}
	for _, m := range usageLine.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			s.g.T.Fatal(err)
		}
		*into[m[1]] = int64(n)
	}
	return u
}

func (u usage) String() string {
	return fmt.Sprintf("heap %.1f MiB, resident %.1f MiB, %d descriptors, %d goroutines", float64(u.heap)/(1<<20), float64(u.resident)/(1<<20), u.files, u.goroutines)
}

// atMost reports whether u is no more than first, but for what varies from moment to moment.
func (u usage) atMost(first usage) bool {
	return u.heap <= first.heap+first.heap/10+2<<20 && u.resident <= first.resident+first.resident/10+8<<20 &&
		u.files <= first.files+4 && u.goroutines <= first.goroutines+8
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
