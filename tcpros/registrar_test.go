package tcpros_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

func masterAt(t *testing.T, address string) *master.Master {
	t.Helper()
	m, err := master.New(t.Context(), master.Options{Listen: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func TestMasterAwayAtStart(t *testing.T) {
	address := freePort(t)
	o := nodeOptions("sub", "http://"+address)
	log, logs := observedLog()
	o.Log = log
	start := time.Now()
	n := newNode(t, o)
	b := &inbox{}
	subscribe(t, n, "/t", b)
	if took := time.Since(start); took > patience { // the node retries forever
		t.Errorf("start took %v", took)
	}
	lost := "Failed to contact master at [" + address + "].  Retrying..."
	back := "Connected to master at [" + address + "]"
	waitFor(t, "the complaint", func() bool { return logs.FilterMessage(lost).Len() == 1 })
	if hint, _ := logs.FilterMessage(lost).All()[0].ContextMap()["hint"].(string); !strings.Contains(hint, "ROS_MASTER_URI") {
		t.Errorf("no hint in %v", logs.All())
	}
	if _, err := n.Master().PublishedTopics(t.Context()); err == nil {
		t.Error("topics without a master")
	} else if c := (*tcpros.CallError)(nil); !errors.As(err, &c) || c.Host != address || c.Method != "getPublishedTopics" {
		t.Errorf("got %v", err)
	}
	m := masterAt(t, address)
	waitFor(t, "the registration", func() bool { return registered(t, m.URI(), "/t") })
	if logs.FilterMessage(lost).Len() != 1 || logs.FilterMessage(back).Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}

func TestCloseWithoutMaster(t *testing.T) {
	n := newNode(t, nodeOptions("sub", "http://"+freePort(t)).With(tcpros.Timing{Unregister: never}))
	subscribe(t, n, "/t", &inbox{})
	start := time.Now()
	if err := n.Close(context.Background()); err != nil {
		t.Errorf("nothing was registered, but: %v", err)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("took %v", took)
	}
	if err := n.Close(context.Background()); !errors.Is(err, tcpros.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if _, err := n.Subscribe(tcpros.SubscribeOptions{Topic: "/x", Open: (&inbox{}).open}); !errors.Is(err, tcpros.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
}

// A master that accepts and never answers delays Close by its budget only.
func TestCloseWithHungMaster(t *testing.T) {
	t.Parallel()
	m := masterAt(t, freePort(t))
	n := newNode(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{Unregister: 100 * time.Millisecond}))
	subscribe(t, n, "/t", &inbox{})
	waitFor(t, "the registration", func() bool { return registered(t, m.URI(), "/t") })
	address := m.Addr().String()
	_ = m.Close()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Now()
	if err := n.Close(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 4*time.Second { // a call may take 5 s
		t.Errorf("took %v", took)
	}
}

// A registration in progress when the node closes is answered before the node unregisters: a master
// may handle an abandoned call after the next call.
func TestCloseDuringRegistration(t *testing.T) {
	t.Parallel()
	started, takenBack := make(chan struct{}), make(chan struct{})
	late := make(chan string, 1)
	uri := serveMaster(t, func(ctx context.Context, method string) (any, error) {
		switch method {
		case "registerSubscriber":
			close(started)
			select {
			case <-ctx.Done():
				late <- "given up"
			case <-takenBack:
				late <- "taken back before its answer"
			case <-time.After(50 * time.Millisecond):
				late <- ""
			}
		case "unregisterSubscriber":
			close(takenBack)
			return []any{1, "", 1}, nil
		case "getPid":
			return []any{1, "", 7}, nil
		case "lookupNode":
			return []any{-1, "unknown", ""}, nil
		}
		return []any{1, "", []any{}}, nil
	})
	n := newNode(t, nodeOptions("n", uri).With(tcpros.Timing{Unregister: time.Minute}))
	subscribe(t, n, "/t", &inbox{})
	<-started
	if err := n.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if what := <-late; what != "" {
		t.Errorf("the registration was %s", what)
	}
	select {
	case <-takenBack:
	default:
		t.Error("it was not taken back")
	}
}

func TestNothingIsLeftRegistered(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("n", m.URI()).With(calm))
	for _, topic := range []string{"/a", "/b", "/c"} {
		subscribe(t, n, topic, &inbox{})
		advertise(t, n, topic, 0)
		waitFor(t, topic, func() bool { return registered(t, m.URI(), topic) })
	}
	if err := n.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]any{[]any{}, []any{}, []any{}}, call(t, m.URI(), "getSystemState", "/x")); diff != "" {
		t.Error(diff)
	}
}

// A node registers everything again with a restarted master, and its links survive the restart.
func TestMasterRestart(t *testing.T) {
	t.Parallel()
	address := freePort(t)
	m := masterAt(t, address)
	pub := newNode(t, nodeOptions("pub", m.URI()).With(brisk))
	p := advertise(t, pub, "/t", 0)
	silent := newFakePublisher(t, "/t", sends("/t")) // registers with the first master only
	silent.register(m.URI(), "/silent")
	o := nodeOptions("sub", m.URI()).With(brisk)
	log, logs := observedLog()
	o.Log = log
	b := &inbox{}
	s := subscribe(t, newNode(t, o), "/t", b)
	waitFor(t, "the links", func() bool { return s.Publishers() == 2 })
	src := p.Source(false)
	src.Publish(frame("before"))
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	src.Publish(frame("between"))
	waitFor(t, "the messages", func() bool { return b.count() == 2 })

	m = masterAt(t, address)
	start := time.Now()
	waitFor(t, "the registrations", func() bool {
		state := call(t, m.URI(), "getSystemState", "/x").([]any)
		return len(state[0].([]any)) == 1 && len(state[1].([]any)) == 1
	})
	t.Log("registered again after", time.Since(start))
	late := newFakePublisher(t, "/t", sends("/t", frame("late")))
	late.register(m.URI(), "/late")
	src.Publish(frame("after"))
	waitFor(t, "all messages", func() bool { return b.count() == 4 })
	if got := b.ends(); len(got) != 0 || s.Publishers() != 3 || silent.attempts() != 1 {
		t.Errorf("links ended: %v; %d up, %d attempts to the silent one", got, s.Publishers(), silent.attempts())
	}
	if n := logs.FilterMessageSnippet("master was restarted").Len(); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// A registration that others remove, as rosnode cleanup does, is registered again.
func TestForgottenByMaster(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	n := newNode(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{Identify: brisk.Identify, Reconcile: brisk.Reconcile}))
	subscribe(t, n, "/t", &inbox{})
	waitFor(t, "the registration", func() bool { return registered(t, m.URI(), "/t") })
	if got := call(t, m.URI(), "unregisterSubscriber", "/sub", "/t", n.URI()); got != 1 {
		t.Fatalf("%v registrations ended", got)
	}
	waitFor(t, "the second registration", func() bool { return registered(t, m.URI(), "/t") })
}

func TestPrivateParameters(t *testing.T) {
	m := newMaster(t)
	_, a, err := tcpros.ParseArgs([]string{"_i:=3", "_s:=a<b>&c", "_f:=2.5", "_b:=true", "__name:=x", "__ns:=/ns"})
	if err != nil {
		t.Fatal(err)
	}
	o := nodeOptions("n", m.URI())
	o.Args = a
	n := newNode(t, o)
	if n.Name() != "/ns/x" {
		t.Errorf("named %s", n.Name())
	}
	want := map[string]any{"i": 3, "s": "a<b>&c", "f": 2.5, "b": true}
	var got any
	waitFor(t, "the parameters", func() bool {
		got, _, _ = n.Master().Param(t.Context(), "/ns/x")
		return cmp.Equal(got, any(want))
	})
	if v, ok, err := n.Master().Param(t.Context(), "/nothing"); v != nil || ok || err != nil {
		t.Errorf("unset parameter: %v, %v, %v", v, ok, err)
	}
	if err := n.Master().SetParam(t.Context(), "/list", []any{1, "two", map[string]any{"a": 1.5}}); err != nil {
		t.Error(err)
	}
	if v, ok, err := n.Master().Param(t.Context(), "/list"); !ok || err != nil || !cmp.Equal(v, any([]any{1, "two", map[string]any{"a": 1.5}})) {
		t.Errorf("list: %v, %v, %v", v, ok, err)
	}
}

func TestMasterClient(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("n", m.URI()))
	advertise(t, n, "/a", 0)
	subscribe(t, n, "/b", &inbox{})
	waitFor(t, "the registrations", func() bool {
		got, err := n.Master().PublishedTopics(t.Context())
		return err == nil && cmp.Equal(got, []tcpros.TopicInfo{{Name: "/a", Type: stringType}}) && registered(t, m.URI(), "/b")
	})
	uri, err := n.Master().LookupNode(t.Context(), "/n")
	if err != nil || uri != n.URI() {
		t.Errorf("LookupNode: %q, %v", uri, err)
	}
	if got, err := n.Master().NodePublications(t.Context(), uri); err != nil || !cmp.Equal(got, []tcpros.TopicInfo{{Name: "/a", Type: stringType}}) {
		t.Errorf("NodePublications: %v, %v", got, err)
	}
	if got, err := n.Master().NodeSubscriptions(t.Context(), uri); err != nil || !cmp.Equal(got, []tcpros.TopicInfo{{Name: "/b", Type: "*"}}) {
		t.Errorf("NodeSubscriptions: %v, %v", got, err)
	}
	if _, err := n.Master().LookupNode(t.Context(), "/nobody"); !errors.Is(err, tcpros.ErrStatus) {
		t.Errorf("unknown node: %v", err)
	}
	if _, err := n.Master().LookupNode(t.Context(), "/a</value>"); !errors.Is(err, tcpros.ErrName) {
		t.Errorf("XML as name: %v", err)
	}
	if _, err := n.Master().NodeSubscriptions(t.Context(), "nonsense"); err == nil {
		t.Error("nonsense URI accepted")
	}
}

// A single lost registration is noticed too, and with it a publisher that the master announced by
// no update.
func TestLostRegistration(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	n := newNode(t, nodeOptions("sub", m.URI()).With(brisk))
	b := &inbox{}
	subscribe(t, n, "/t", b)
	subscribe(t, n, "/other", &inbox{})
	waitFor(t, "the registrations", func() bool { return registered(t, m.URI(), "/t") && registered(t, m.URI(), "/other") })
	call(t, m.URI(), "unregisterSubscriber", "/sub", "/t", n.URI())
	p := newFakePublisher(t, "/t", sends("/t", frame("x")))
	p.register(m.URI(), "/fake")
	waitFor(t, "the message", func() bool { return b.count() == 1 })
}

// Updates that the master sent while the node was cut off are lost: the node asks for the lists as
// soon as the master is back, not when the next comparison is due.
func TestUpdateLostInAnOutage(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	f := newFront(t, m.URI())
	o := nodeOptions("sub", f.URL).With(tcpros.Timing{Identify: brisk.Identify, Reconcile: never})
	log, logs := observedLog()
	o.Log = log
	n := newNode(t, o)
	b := &inbox{}
	subscribe(t, n, "/t", b)
	subscribe(t, n, "/other", &inbox{})
	waitFor(t, "the registrations", func() bool { return registered(t, m.URI(), "/t") && registered(t, m.URI(), "/other") })
	call(t, m.URI(), "unregisterSubscriber", "/sub", "/t", n.URI()) // so that the master sends the node no update
	p := newFakePublisher(t, "/t", sends("/t", frame("x")))
	p.register(m.URI(), "/fake")
	var broken atomic.Int32 // net/http repeats a call whose connection breaks
	f.set(m.URI(), func(http.ResponseWriter, string) bool {
		if broken.Add(1) <= 2 {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	waitFor(t, "the outage", func() bool { return logs.FilterMessageSnippet("Failed to contact master").Len() == 1 })
	waitFor(t, "the message", func() bool { return b.count() == 1 })
}

// front passes calls on to a master that the test can replace. answer may answer a call instead; a
// panic of http.ErrAbortHandler breaks the connection.
type front struct {
	*httptest.Server
	mu     sync.Mutex
	target string
	answer func(w http.ResponseWriter, call string) bool
}

func newFront(t *testing.T, target string) *front {
	t.Helper()
	f := &front{target: target}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *front) set(target string, answer func(w http.ResponseWriter, call string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target, f.answer = target, answer
}

// restart sets another master and closes the connections, as the end of a process does.
func (f *front) restart(target string, answer func(w http.ResponseWriter, call string) bool) {
	f.set(target, answer)
	f.CloseClientConnections()
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	target, answer := f.target, f.answer
	f.mu.Unlock()
	if answer != nil && answer(w, string(body)) {
		return
	}
	out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(w, resp.Body)
}

// noRunID answers as a master does whose /run_id is not set.
func noRunID(w http.ResponseWriter, call string) bool {
	const notSet = `<?xml version="1.0"?><methodResponse><params><param><value><array><data><value><int>-1</int></value>` +
		`<value><string>no</string></value><value><int>0</int></value></data></array></value></param></params></methodResponse>`
	if !strings.Contains(call, ">/run_id<") {
		return false
	}
	_, _ = io.WriteString(w, notSet)
	return true
}

// Publishers that never register with the next master keep their links, in every way in which the
// node detects the new master.
func TestLinksOutliveTheMaster(t *testing.T) {
	t.Parallel()
	nothing := func() func(http.ResponseWriter, string) bool { return nil }
	tests := map[string]struct {
		before func(http.ResponseWriter, string) bool
		after  func() func(http.ResponseWriter, string) bool
		proxy  bool // connections survive the restart, as those to a proxy
		want   string
	}{
		"its greeting fails at first": {nil, func() func(http.ResponseWriter, string) bool {
			var broken atomic.Int32 // net/http repeats a call whose connection breaks
			return func(_ http.ResponseWriter, call string) bool {
				if strings.Contains(call, ">/tcp_keepalive<") && broken.Add(1) <= 2 {
					panic(http.ErrAbortHandler)
				}
				return false
			}
		}, false, "master was restarted"},
		"it has no run_id":          {noRunID, func() func(http.ResponseWriter, string) bool { return noRunID }, false, "master has forgotten this node"},
		"it hides behind a proxy":   {nil, nothing, true, "master was restarted"},
		"it is hidden, and unnamed": {noRunID, func() func(http.ResponseWriter, string) bool { return noRunID }, true, "master has forgotten this node"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			f := newFront(t, m.URI())
			f.set(m.URI(), tt.before)
			silent := newFakePublisher(t, "/t", sends("/t"))
			silent.register(m.URI(), "/silent")
			timing := tcpros.Timing{Identify: brisk.Identify, LingerCheck: brisk.LingerCheck}
			replace := f.restart
			if tt.proxy {
				timing.Reconcile, replace = brisk.Reconcile, f.set
			}
			b, s, logged := subscriber(t, nodeOptions("sub", f.URL).With(timing), "/t")
			waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
			next := newMaster(t)
			replace(next.URI(), tt.after())
			waitFor(t, "the registration", func() bool { return registered(t, next.URI(), "/t") })
			waitFor(t, tt.want, func() bool { return logged(tt.want) == 1 }) // the node may register before it detects the new master
			closeQuietLink(t, next.URI(), s)
			waitFor(t, "the word of that to its sink", func() bool { return len(b.ends()) > 0 })
			if s.Publishers() != 1 || len(b.ends()) != 1 {
				t.Errorf("%d links, ended: %v", s.Publishers(), b.ends())
			}
		})
	}
}

// subscriberOfUnnamedMaster subscribes to /t through a front whose master has no run_id, and waits for the link to a
// publisher that never registers with another master.
func subscriberOfUnnamedMaster(t *testing.T, timing tcpros.Timing) (*master.Master, *front, *inbox, *tcpros.Subscription, func(text string) int) {
	t.Helper()
	m := newMaster(t)
	newFakePublisher(t, "/t", sends("/t")).register(m.URI(), "/silent")
	f := newFront(t, m.URI())
	f.set(m.URI(), noRunID)
	b, s, logged := subscriber(t, nodeOptions("sub", f.URL).With(timing), "/t")
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	return m, f, b, s, logged
}

// A master that is replaced in the middle of a comparison, by one without registrations, does not
// know this node: its empty lists do not end the links to publishers.
func TestMasterReplacedWithinAComparison(t *testing.T) {
	t.Parallel()
	next := newMaster(t)
	m, f, b, s, logged := subscriberOfUnnamedMaster(t, brisk)
	f.set(m.URI(), func(w http.ResponseWriter, call string) bool {
		if !strings.Contains(call, "<methodName>getSystemState</methodName>") {
			return noRunID(w, call)
		}
		f.set(next.URI(), noRunID)
		resp, err := http.Post(next.URI(), "text/xml", strings.NewReader(call))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(w, resp.Body)
		return true
	})
	waitFor(t, "the registration", func() bool { return registered(t, next.URI(), "/t") })
	waitFor(t, "the word of it", func() bool { return logged("master has forgotten this node") == 1 })
	closeQuietLink(t, next.URI(), s)
	waitFor(t, "the word of that to its sink", func() bool { return len(b.ends()) > 0 })
	if len(b.ends()) != 1 {
		t.Errorf("ended: %v", b.ends())
	}
}

// A master without a run_id that is replaced just before the node confirms an update: the new master has
// no publishers, and its empty list does not end the links to publishers.
func TestMasterReplacedBeforeAConfirmation(t *testing.T) {
	t.Parallel()
	next := newMaster(t)
	m, f, b, s, logged := subscriberOfUnnamedMaster(t, tcpros.Timing{Identify: never, LingerCheck: brisk.LingerCheck, Reconcile: never})
	f.set(next.URI(), noRunID)
	newFakePublisher(t, "/t", sends("/t")).register(m.URI(), "/second") // the master before sends an update
	waitFor(t, "the registration", func() bool { return registered(t, next.URI(), "/t") })
	closeQuietLink(t, next.URI(), s)
	waitFor(t, "the word of that to its sink", func() bool { return len(b.ends()) > 0 })
	if s.Publishers() != 1 || len(b.ends()) != 1 {
		t.Errorf("%d links, ended: %v", s.Publishers(), b.ends())
	}
	if n := logged("master has forgotten this node"); n != 1 {
		t.Errorf("logged %d times that the master has forgotten this node", n)
	}
}

// A parameter that cannot be sent does not count as a failed contact.
func TestUnsendableParameter(t *testing.T) {
	for _, p := range []tcpros.Param{{Name: "frame", Value: "caf\xe9"}, {Name: strings.Repeat("x", 1024), Value: 1}} {
		m := newMaster(t)
		o := nodeOptions("n", m.URI())
		o.Args.Params = []tcpros.Param{p, {Name: "next", Value: 1}}
		log, logs := observedLog()
		o.Log = log
		n := newNode(t, o)
		subscribe(t, n, "/t", &inbox{})
		waitFor(t, "the registration", func() bool { return registered(t, m.URI(), "/t") })
		if _, ok, err := n.Master().Param(t.Context(), "/n/next"); !ok || err != nil {
			t.Errorf("the next parameter: %v, %v", ok, err)
		}
		if logs.FilterMessage("parameter not set").Len() != 1 {
			t.Errorf("logged %v", logs.All())
		}
	}
}

// A node whose name another node took registers nothing until the name is free again, since a
// registration would end the other node. From then on it maintains its registrations as before.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	f := newFront(t, m.URI())
	var rounds, held atomic.Int32
	var gate atomic.Pointer[chan struct{}]
	f.set(m.URI(), func(_ http.ResponseWriter, call string) bool {
		if strings.Contains(call, ">lookupNode<") {
			rounds.Add(1)
			if g := gate.Load(); g != nil {
				held.Add(1)
				<-*g
			}
		}
		return false
	})
	o := nodeOptions("rec", f.URL).With(brisk)
	log, logs := observedLog()
	o.Log = log
	n := newNode(t, o)
	subscribe(t, n, "/t", &inbox{})
	waitFor(t, "the registration", func() bool { return registered(t, m.URI(), "/t") })
	answered := rounds.Load() + 2
	waitFor(t, "the answer to it", func() bool { return rounds.Load() >= answered }) // otherwise the node may register once more, and take the name back
	closed := make(chan struct{})
	opens := sync.OnceFunc(func() { gate.Store(nil); close(closed) })
	defer opens()
	gate.Store(&closed)
	waitFor(t, "it looks, and does nothing else", func() bool { return held.Load() > 0 })
	o = nodeOptions("rec", m.URI()).With(calm)
	var asked atomic.Int32
	o.OnShutdown = func(string, string) { asked.Add(1) }
	other := newNode(t, o)
	subscribe(t, other, "/u", &inbox{})
	waitFor(t, "the other's registration", func() bool { return registered(t, m.URI(), "/u") })
	opens()
	waitFor(t, "the word", func() bool { return logs.FilterMessageSnippet("another node took this node's name").Len() > 0 })
	subscribe(t, n, "/late", &inbox{})
	since := rounds.Load()
	waitFor(t, "chances to register", func() bool { return rounds.Load() > since+5 })
	if registered(t, m.URI(), "/late") || asked.Load() != 0 {
		t.Errorf("registered with another node's name; the other was told to end %d times", asked.Load())
	}
	if err := other.Close(context.Background()); err != nil {
		t.Error(err)
	}
	waitFor(t, "the registrations", func() bool { return registered(t, m.URI(), "/t") && registered(t, m.URI(), "/late") })
	call(t, m.URI(), "unregisterSubscriber", "/rec", "/late", n.URI())
	waitFor(t, "the lost registration", func() bool { return registered(t, m.URI(), "/late") })
}
