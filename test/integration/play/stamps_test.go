package play_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestStampsNow: for nodes of ROS a bag with --stamps=now is a robot of now, whatever is
// ordered while it plays. tf2 finds each transform, for the stamps of data and for the time
// of the node.
func TestStampsNow(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		harness.NeedTF2(t)
		g.Run("python3", g.Script("stamps.py"), "write", "robot.bag")
		w := watchStamps(g)
		begin := time.Now().UnixNano()
		p := startPlayer(g, "robot.bag", "--loop", "--stamps=now")
		w.poses(8)
		w.hearsAll() // at the rate 1, which the check of paths needs
		p.post("rate", `{"rate": 0.5}`)
		w.poses(3)
		p.post("pause", "")
		for range 20 {
			p.post("step", "")
		}
		p.post("play", "")
		p.post("rate", `{"rate": 3}`)
		w.poses(5)
		p.post("seek", `{"to": 0.1}`)
		w.poses(5)
		p.Stop()
		w.check(func(m stampLine, i int) string {
			const ahead, young = 200 * int64(time.Millisecond), int64(time.Minute) // of tf, at rate 0.5; while the machine stands still
			if m.Stamps[i] < begin-int64(time.Second) || m.Stamps[i] > m.Now+ahead || m.Stamps[i] < m.Now-young {
				return fmt.Sprintf("not between %v and %v", time.Unix(0, begin), time.Unix(0, m.Now))
			}
			return ""
		})
	})
}

// TestStampsClock: play follows the clock of a simulator, and stamps with its time.
func TestStampsClock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		harness.NeedTF2(t)
		g.Run("rosparam", "set", "/use_sim_time", "true")
		g.Run("python3", g.Script("stamps.py"), "write", "robot.bag")
		w := watchStamps(g)
		p := startPlayer(g, "robot.bag", "--loop", "--stamps=clock")
		p.waitsForClock()
		sim := newSimulator(g)
		sim.run(2, 100*time.Second)
		w.poses(8)
		w.hearsAll()
		sim.stop()
		p.waitsForClock()
		sim.run(0.5, 0)
		w.poses(3)
		sim.stop()
		sim.run(3, 0)
		w.poses(5)
		p.Stop()
		sim.stop()
		w.check(func(m stampLine, i int) string {
			const ahead = 100 * time.Millisecond // of tf
			if at := time.Duration(m.Stamps[i]); at < 99*time.Second || at > sim.clock+ahead {
				return fmt.Sprintf("not between 99 s and %v", sim.clock)
			}
			return ""
		})
	})
}

// stampLine is a line of the watcher.
type stampLine struct {
	Topic  string  `json:"topic"`
	Now    int64   `json:"now"`
	Stamps []int64 `json:"stamps"`
	Lookup string  `json:"lookup"`
	Tries  int     `json:"tries"`
	Error  string  `json:"error"`
}

// watcher is a node of ROS that writes down the stamps that it gets.
type watcher struct {
	*harness.Process
	t *testing.T
}

func watchStamps(g *harness.Graph) *watcher {
	w := &watcher{Process: g.StartPython("stamps.py", "watch"), t: g.T}
	w.Printed("ready")
	return w
}

// lines returns what the watcher has said, by topic or lookup.
func (w *watcher) lines() map[string][]stampLine {
	all := map[string][]stampLine{}
	for line := range strings.Lines(w.Out.String()) {
		var m stampLine
		if json.Unmarshal([]byte(line), &m) == nil {
			all[m.Topic+m.Lookup] = append(all[m.Topic+m.Lookup], m)
		}
	}
	return all
}

// poses waits until so many more poses have come and their transforms have been looked up.
func (w *watcher) poses(more int) {
	w.t.Helper()
	count := func() int { return strings.Count(w.Out.String(), `"lookup": "now"`) }
	want := count() + more
	harness.Eventually(w.t, fmt.Sprintf("%d poses", want), func() bool {
		w.checkTransforms()
		return count() >= want
	}, func() string { return fmt.Sprint(count()) })
}

// stampedTopics are the topics of the bag that the watcher subscribes to.
func stampedTopics() []string { return []string{"/tf", "/tf_static", "/pose", "/path", "/diagnostics"} }

// hearsAll waits until something has come on each topic.
func (w *watcher) hearsAll() {
	w.t.Helper()
	var missing string
	harness.Eventually(w.t, "a message on each topic", func() bool {
		all := w.lines()
		for _, missing = range stampedTopics() {
			if len(all[missing]) == 0 {
				return false
			}
		}
		return true
	}, func() string { return "nothing on " + missing })
}

// checkTransforms ends the test if there was a transform that tf2 did not have.
func (w *watcher) checkTransforms() {
	w.t.Helper()
	for _, lookup := range []string{"stamp", "now"} {
		for _, m := range w.lines()[lookup] {
			if m.Error != "" {
				w.t.Fatalf("transform for %s: %s", lookup, m.Error)
			}
		}
	}
}

// check checks what was heard. wrong tells what is wrong with a stamp.
func (w *watcher) check(wrong func(m stampLine, stamp int) string) {
	w.t.Helper()
	all := w.lines()
	for _, topic := range stampedTopics() {
		if len(all[topic]) == 0 {
			w.t.Errorf("nothing on %s", topic)
		}
		last := int64(0)
		for _, m := range all[topic] {
			for i, stamp := range m.Stamps {
				if text := wrong(m, i); text != "" {
					w.t.Errorf("%s %v: stamp %v, %s", topic, time.Unix(0, m.Now), time.Unix(0, stamp), text)
				}
			}
			stamp := m.Stamps[len(m.Stamps)-1] // of tf the one that is not from the future
			if stamp < last {
				w.t.Errorf("%s: the stamp goes back by %v", topic, time.Duration(last-stamp))
			}
			last = stamp
		}
	}
	w.checkTransforms()
	const soon = 2 // tries: tf2 polls a hundredth of its timeout apart
	for _, lookup := range []string{"stamp", "now"} {
		late := 0
		for _, m := range all[lookup] {
			if m.Tries > soon {
				late++
			}
		}
		if n := len(all[lookup]); 2*late > n { // else the machine has stood still
			w.t.Errorf("%d of %d transforms for %s came late", late, n, lookup)
		}
	}
	const ms = int64(time.Millisecond)
	first := all["/path"][0].Stamps // at the rate 1
	for i, want := range []int64{0, 0, 20 * ms, 40 * ms, 60 * ms, 80 * ms} {
		if got := first[0] - first[i]; got != want {
			w.t.Errorf("stamp %d of a path is %v before the first, want %v", i, time.Duration(got), time.Duration(want))
		}
	}
}

// player is a goplay that is steered by HTTP.
type player struct {
	*harness.Process
	t   *testing.T
	url string
}

func startPlayer(g *harness.Graph, args ...string) *player {
	host := "127.0.0.1:" + harness.FreePort(g.T)
	p := &player{g.Start("goplay", append(args, "--link-timeout=60", "--http="+host)...), g.T, "http://" + host + "/api/v1/"}
	p.Printed("web page")
	return p
}

// post gives an order.
func (p *player) post(order, body string) {
	p.t.Helper()
	r, err := http.Post(p.url+order, "application/json", strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		p.t.Fatalf("%s %s: %s", order, body, r.Status)
	}
}

// begun waits until orders are taken.
func (p *player) begun() {
	p.t.Helper()
	harness.Eventually(p.t, "orders are taken", func() bool {
		r, err := http.Get(strings.TrimSuffix(p.url, "api/v1/") + "readyz")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// playState is what the tests need of the state.
type playState struct {
	Pass       int      `json:"pass"`
	WaitingFor []string `json:"waiting_for"`
}

// state returns the state of play.
func (p *player) state() playState {
	p.t.Helper()
	r, err := http.Get(p.url + "state")
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	var e struct {
		State playState `json:"state"`
	}
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		p.t.Fatal(err)
	}
	return e.State
}

// waitsForClock waits until the state says that the clock stands still.
func (p *player) waitsForClock() {
	p.t.Helper()
	harness.Eventually(p.t, "play waits for the clock", func() bool { return slices.Contains(p.state().WaitingFor, "/clock") })
}

// simulator publishes a clock.
type simulator struct {
	t      *testing.T
	source *tcpros.Source
	clock  time.Duration // that was published last; while it does not run
	halt   func()
}

func newSimulator(g *harness.Graph) *simulator {
	p, err := peers.Node(g, "simulator").Advertise(tcpros.AdvertiseOptions{
		Topic: "/clock", Type: "rosgraph_msgs/Clock", MD5Sum: "a9c97c1d230cfc112e270351a944ee47", MessageDefinition: "time clock\n",
	})
	if err != nil {
		g.T.Fatal(err)
	}
	g.Eventually("goplay and the watcher follow the clock", func() bool { return p.Subscribers() == 2 })
	s := &simulator{t: g.T, source: p.Source(false), halt: func() {}}
	g.T.Cleanup(s.stop)
	return s
}

// run has the clock go on, at a rate, from where it is or from a later time.
func (s *simulator) run(rate float64, from time.Duration) {
	s.clock = max(s.clock, from)
	end, ended := make(chan struct{}), make(chan struct{})
	s.halt = sync.OnceFunc(func() {
		close(end)
		<-ended
	})
	const period = 5 * time.Millisecond
	tick := time.NewTicker(period)
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			frame := binary.LittleEndian.AppendUint32(nil, 8)
			frame = binary.LittleEndian.AppendUint32(frame, uint32(s.clock/time.Second))
			s.source.PublishNow(binary.LittleEndian.AppendUint32(frame, uint32(s.clock%time.Second)))
			select {
			case <-tick.C:
				s.clock += time.Duration(rate * float64(period))
			case <-end:
				return
			}
		}
	}()
}

// stop has the clock stand still.
func (s *simulator) stop() { s.halt() }
