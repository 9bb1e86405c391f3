package live_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// TestHandshake: which subprotocol is selected for which offers, and what else an address serves.
func TestHandshake(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	_, host := recordWithViewers(g, "-a")
	tests := map[string]struct {
		o    viewer.Options
		want string // empty means 400
	}{
		"sdk":               {viewer.Options{Offers: []string{viewer.SDK}}, viewer.SDK},
		"classic":           {viewer.Options{Offers: []string{viewer.Classic}}, viewer.Classic},
		"both, sdk last":    {viewer.Options{Offers: []string{viewer.Classic + ", " + viewer.SDK}}, viewer.Classic},
		"both, no space":    {viewer.Options{Offers: []string{viewer.SDK + "," + viewer.Classic}}, viewer.SDK},
		"two headers":       {viewer.Options{Offers: []string{"x", viewer.Classic}}, viewer.Classic},
		"with an unknown":   {viewer.Options{Offers: []string{"unknown,  " + viewer.Classic}}, viewer.Classic},
		"unknown":           {viewer.Options{Offers: []string{"foxglove.sdk.v2"}}, ""},
		"none":              {viewer.Options{Offers: []string{}}, ""},
		"a path":            {viewer.Options{Path: "/some/path?layout=x"}, viewer.SDK},
		"another host name": {viewer.Options{Host: "evil.example"}, "421"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := viewer.Dial(t.Context(), host, test.o)
			var refused *viewer.RefusedError
			switch errors.As(err, &refused) {
			case false:
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if c.Protocol != test.want {
					t.Errorf("selected %q, want %q", c.Protocol, test.want)
				}
			case true:
				want := http.StatusBadRequest
				if test.want == "421" {
					want = http.StatusMisdirectedRequest
				}
				if refused.Status != want || want == http.StatusBadRequest && (!strings.Contains(refused.Text, viewer.SDK) || !strings.Contains(refused.Text, viewer.Classic)) {
					t.Errorf("refused with %v, want %q", refused, test.want)
				}
			}
		})
	}
	resp, err := http.Get("http://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(b), "<html") {
		t.Errorf("the page: %d %.200s", resp.StatusCode, b)
	}
}

// TestOrigins: which pages may open the live view with which token, and that no token is logged.
func TestOrigins(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const token, wrong = "0123456789abcdef0123", "wrong-wrong-wrong-wrong"
	port := harness.FreePort(t)
	host := "127.0.0.1:" + port
	rec := g.Start("gorecord", "-a", "-O", "out", "--http="+host, "--http-token="+token, "--http-origin=https://viewer.example.org", "--log-level=debug")
	rec.Printed("Recording to")
	header := func(name, value string) http.Header { return http.Header{name: {value}} }
	origins := map[string]bool{
		"": true, "http://" + host: true, "file://": true, "https://app.foxglove.dev": true, "https://viewer.example.org": true,
		"null": false, "http://evil.example": false, "http://127.0.0.1:1": false, "https://app.foxglove.dev.evil.example": false, "https://viewer.example.org:444": false,
	}
	tokens := map[string]struct {
		path   string
		header http.Header
		ok     bool
	}{
		"none":         {"/", nil, false},
		"query":        {"/?token=" + token, nil, true},
		"wrong query":  {"/?token=" + wrong, nil, false},
		"bearer":       {"/", header("Authorization", "Bearer "+token), true},
		"wrong bearer": {"/", header("Authorization", "Bearer "+wrong), false},
	}
	for origin, allowed := range origins {
		for name, given := range tokens {
			h := given.header.Clone()
			if h == nil {
				h = http.Header{}
			}
			if origin != "" {
				h.Set("Origin", origin)
			}
			c, err := viewer.Dial(t.Context(), host, viewer.Options{Path: given.path, Header: h})
			if err == nil {
				c.Close()
			}
			if want := allowed && given.ok; (err == nil) != want {
				t.Errorf("origin %q, token %s: %v, want a connection: %v", origin, name, err, want)
			}
		}
	}
	rec.Stop()
	if out := rec.Out.String(); strings.Contains(out, token) || strings.Contains(out, wrong) {
		t.Error("a token is in the log")
	}
	// Without a token other addresses than loopback are refused at the start.
	if out := g.Start("gorecord", "-a", "-O", "other", "--http=0.0.0.0:"+port); out.Wait() != 1 {
		t.Errorf("exit code of a server without a token: %d", out.Wait())
	}
}

// TestOtherSite: a page of another site cannot look into a robot with the browser of its user.
func TestOtherSite(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	peers.Talk(g, "talker", "/chat")
	_, host := recordWithViewers(g, "-a")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<!doctype html><title>another site</title>")
	}))
	defer site.Close()
	open := func(url string) string {
		t.Helper()
		b := newBrowser(t, url)
		script := fmt.Sprintf(`new Promise(done => {
			const s = new WebSocket("ws://%s/", ["foxglove.websocket.v1", "foxglove.sdk.v1"]);
			s.onmessage = e => { s.close(); done("message " + e.data.slice(0, 20)); };
			s.onclose = e => done("closed " + e.code);
		})`, host)
		return b.await(script)
	}
	if got := open(site.URL); got != "closed 1006" {
		t.Errorf("a page of another site: %s", got)
	}
	if got := open("http://" + host + "/"); !strings.HasPrefix(got, `message {"op":"serverInfo"`) {
		t.Errorf("our own page: %s", got)
	}
}

// TestBrowser: a page in Chromium subscribes and gets messages as binary frames.
func TestBrowser(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	peers.Talk(g, "talker", "/chat", "/big")
	_, host := recordWithViewers(g, "-a")
	b := newBrowser(t, "http://"+host+"/")
	got := b.await(fmt.Sprintf(`new Promise(done => {
		const s = new WebSocket("ws://%s/", ["foxglove.websocket.v1", "foxglove.sdk.v1"]), seen = {}, ids = {};
		s.binaryType = "arraybuffer";
		s.onmessage = e => {
			if (typeof e.data === "string") {
				const m = JSON.parse(e.data);
				for (const c of m.channels ?? []) {
					if (c.topic !== "/chat" && c.topic !== "/big") continue;
					ids[c.id + 1000] = c.topic;
					s.send(JSON.stringify({op: "subscribe", subscriptions: [{id: c.id + 1000, channelId: c.id}]}));
				}
				return;
			}
			const v = new DataView(e.data);
			if (v.getUint8(0) !== 1) return;
			const text = new TextDecoder().decode(new Uint8Array(e.data, 17));
			seen[ids[v.getUint32(1, true)]] = v.getUint32(13, true) === text.length && text.startsWith("talker");
			if (Object.keys(seen).length === 2) { s.close(); done(s.protocol + " " + seen["/chat"] + " " + seen["/big"]); }
		};
		s.onclose = e => done("closed " + e.code);
	})`, host))
	if got != viewer.Classic+" true true" { // the first one that the page offers
		t.Errorf("the page got %s", got)
	}
}

// TestPython: a client of another author reads what is recorded.
func TestPython(t *testing.T) {
	t.Parallel()
	harness.Need(t, "/usr/bin/python3", "-c", "import websocket")
	g := harness.NewGraph(t, "gomaster")
	peers.Talk(g, "talker", "/chat", "/latched", "/big")
	rec, host := recordWithViewers(g, "-a")
	var got struct {
		Protocol string            `json:"protocol"`
		Schemas  map[string]string `json:"schemas"`
		Messages []struct {
			Topic string `json:"topic"`
			At    uint64 `json:"at"`
			Text  string `json:"text"`
		} `json:"messages"`
		Pong  bool   `json:"pong"`
		Error string `json:"error"`
	}
	g.Python(&got, "view.py", "ws://"+host, "/chat", "/latched", "/big")
	if got.Protocol != viewer.Classic || // the first one that it offers
		got.Schemas["/chat"] != "std_msgs/String string data\n" || !got.Pong || !strings.Contains(got.Error, "Invalid message") {
		t.Errorf("the client got %+v", got)
	}
	rec.Stop()
	bag := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
	recorded := map[string]bool{}
	for name, topic := range bag {
		for _, m := range topic.Messages {
			recorded[fmt.Sprint(name, m.Time.Std().UnixNano(), string(m.Data[4:]))] = true
		}
	}
	seen := map[string]bool{}
	for _, m := range got.Messages {
		seen[m.Topic] = true
		if !recorded[fmt.Sprint(m.Topic, m.At, m.Text)] {
			t.Errorf("the bag does not have %.80v", m)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the client saw %v", seen)
	}
}

// TestViewOnly: what viewers ask for beyond viewing is refused with a constant status, and changes
// nothing in the graph.
func TestViewOnly(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "talker")
	p := peers.Advertise(g, n, "/t", false)
	_, host := recordWithViewers(g, "-a", "-x", "/rosout.*", "--no-services")
	harness.Eventually(t, "the recorder is linked", func() bool { return p.Subscribers() == 1 })
	before := subscribers(t, n)
	params := func() string {
		all, _, err := n.Master().Param(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all)
	}
	paramsBefore := params()
	v := connect(t, host, viewer.Options{})
	offered(t, v, "/t")
	capabilities := last(v.Info()).Capabilities
	for _, refused := range []string{"clientPublish", "parameters", "parametersSubscribe", "services", "assets", "playbackControl", "time"} {
		if contains(capabilities, refused) {
			t.Errorf("capability %s is offered", refused)
		}
	}
	requests := []string{
		`{"op":"advertise","channels":[{"id":1,"topic":"/cmd_vel","encoding":"ros1","schemaName":"std_msgs/String"}]}`,
		`{"op":"unadvertise","channelIds":[1]}`,
		`{"op":"getParameters","parameterNames":[],"id":"get-all-params"}`,
		`{"op":"setParameters","parameters":[{"name":"/use_sim_time","value":true}]}`,
		`{"op":"subscribeParameterUpdates","parameterNames":["/x"]}`,
		`{"op":"unsubscribeParameterUpdates","parameterNames":["/x"]}`,
		`{"op":"fetchAsset","uri":"package://../../etc/passwd","requestId":1}`,
		`{"op":"nonsense"}`, `{`, `[]`, `{"op":1}`, `{"op":"subscribe","subscriptions":[{"id":1}]}`, `{"op":"subscribe","subscriptions":[{"id":1,"channelId":4000000000}]}`,
		"\x01\x01\x00\x00\x00data", "\x02\x01\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00ros1", "\x03\x00", "\x03\x00\x00\x00\x80\x3f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x07", "\x01",
	}
	for range 2 { // texts are constant
		for _, request := range requests {
			op := byte(viewer.OpText)
			if request[0] < ' ' {
				op = viewer.OpBinary
			}
			if err := v.Conn.WriteFrame(true, op, []byte(request)); err != nil {
				t.Fatal(err)
			}
		}
	}
	harness.Eventually(t, "each request is refused", func() bool { return len(v.Statuses()) >= 2*len(requests) }, func() string { return fmt.Sprint(len(v.Statuses()), v.End()) })
	texts := map[string]int{}
	for _, s := range v.Statuses() {
		texts[s.Message]++
		if s.Level != 2 {
			t.Errorf("status %+v", s)
		}
	}
	for text, times := range texts {
		if times%2 != 0 {
			t.Errorf("%q comes %d times: texts have to be constant", text, times)
		}
	}
	if err := v.Conn.WriteFrame(true, viewer.OpBinary, nil); err != nil { // an empty frame means nothing
		t.Fatal(err)
	}
	if now := subscribers(t, n); now != before {
		t.Errorf("the graph is %s, was %s", now, before)
	}
	if now := params(); now != paramsBefore {
		t.Errorf("the parameters are %s, were %s", now, paramsBefore)
	}
	subscribe(t, v, "/t")
	harness.Eventually(t, "the viewer is served as before", func() bool {
		p.Source(false).PublishNow(peers.StringFrame("x"))
		return len(v.Messages("/t")) > 0
	})
}

// TestStorm: many viewers, at once and one after the other, half-open ones and hostile ones, are
// bounded and cost the recording nothing; its end does not wait for them.
func TestStorm(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs many viewers at once for seconds")
	g := harness.NewGraph(t, "gomaster")
	peers.Talk(g, "talker", "/chat", "/big")
	rec, host := recordWithViewers(g, "-a")
	good := watch(t, host, "/chat")
	hostile := map[string]func(c *viewer.Conn) error{
		"half a header": func(c *viewer.Conn) error { return c.WriteRaw([]byte{0x81}) },
		"a huge length": func(c *viewer.Conn) error {
			return c.WriteRaw([]byte{0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
		},
		"no mask":         func(c *viewer.Conn) error { return c.WriteRaw([]byte{0x81, 2, '{', '}'}) },
		"a reserved bit":  func(c *viewer.Conn) error { return c.WriteRaw([]byte{0xf1, 0x80, 0, 0, 0, 0}) },
		"no continuation": func(c *viewer.Conn) error { return c.WriteFrame(false, viewer.OpContinuation, []byte("x")) },
		"a long ping":     func(c *viewer.Conn) error { return c.WriteFrame(true, viewer.OpPing, make([]byte, 1000)) },
		"an unknown op":   func(c *viewer.Conn) error { return c.WriteFrame(true, 5, nil) },
		"a bad close":     func(c *viewer.Conn) error { return c.WriteFrame(true, viewer.OpClose, []byte{1}) },
		"too much text":   func(c *viewer.Conn) error { return c.WriteFrame(true, viewer.OpText, make([]byte, 4<<20)) },
		"many fragments": func(c *viewer.Conn) error {
			err := c.WriteFrame(false, viewer.OpText, []byte("{"))
			for i := 0; i < 10_000 && err == nil; i++ {
				err = c.WriteFrame(false, viewer.OpContinuation, make([]byte, 500))
			}
			return err
		},
		"many pings": func(c *viewer.Conn) error {
			var err error
			for i := 0; i < 10_000 && err == nil; i++ {
				err = c.WriteFrame(true, viewer.OpPing, []byte("x"))
			}
			return err
		},
		"many subscriptions": func(c *viewer.Conn) error {
			var err error
			for i := 0; i < 2000 && err == nil; i++ {
				err = c.WriteJSON(map[string]any{"op": "subscribe", "subscriptions": []map[string]any{{"id": i, "channelId": i % 4}}})
			}
			return err
		},
		"nothing": func(*viewer.Conn) error { return nil },
	}
	var wg sync.WaitGroup
	for _, attack := range hostile {
		for range 4 {
			wg.Go(func() {
				for range 4 {
					c, err := viewer.Dial(t.Context(), host, viewer.Options{})
					if err != nil {
						continue // too many are there
					}
					_ = attack(c) // the server may close the connection at any time
					if rand.IntN(2) == 0 {
						c.WriteFrame(true, viewer.OpClose, []byte{3, 232})
					}
					c.Close()
				}
			})
		}
	}
	wg.Wait()
	// As many as there may be, and more: some are refused with a status, and all end in time.
	var crowd []*viewer.Viewer
	for range 40 {
		if v, err := viewer.Start(t.Context(), host, viewer.Options{}); err == nil {
			crowd = append(crowd, v)
			t.Cleanup(v.Close)
		}
	}
	stalled, err := net.Dial("tcp", host) // half-open: it never finishes its request
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	io.WriteString(stalled, "GET / HTTP/1.1\r\nUpgrade: websocket\r\n")
	count := len(texts(good, "/chat"))
	harness.Eventually(t, "the first viewer is served as before", func() bool { return len(texts(good, "/chat")) > count+5 }, func() string { return fmt.Sprint(good.End()) })
	if memory := residentMiB(t, rec); memory > 500 {
		t.Errorf("the recorder has %d MiB in memory", memory)
	}
	began := time.Now()
	rec.Stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the recording takes %v to end", took)
	}
	for _, v := range append(crowd, good) {
		<-v.Done()
		var closed *viewer.ClosedError
		if !errors.As(v.End(), &closed) || closed.Code != 1001 && closed.Code != 1013 {
			t.Errorf("a viewer ends with %v", v.End())
		} else if s := last(v.Statuses()); s.Message == "" {
			t.Errorf("a viewer is closed with %v and no status before", closed)
		}
	}
	if all := bags.Read(t, filepath.Join(g.Dir, "out.bag")); len(all["/chat"].Messages) < count {
		t.Errorf("the bag has %d messages", len(all["/chat"].Messages))
	}
}

// TestSession: a viewer that comes back sees the same session, and another run is another session. Viewers are told noetic whatever ROS_DISTRO is: of other names they know only ROS 2.
func TestSession(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	rec, host := recordWithViewers(g, "-a")
	session := func(host string) string {
		t.Helper()
		v := connect(t, host, viewer.Options{})
		harness.Eventually(t, "the server introduces itself", func() bool { return len(v.Info()) > 0 })
		i := last(v.Info())
		if i.Metadata["ROS_DISTRO"] != "noetic" || i.Name == "" || i.SessionID == "" {
			t.Errorf("serverInfo: %+v", i)
		}
		return i.SessionID
	}
	first := session(host)
	if again := session(host); again != first {
		t.Errorf("session %q after a reconnect, was %q", again, first)
	}
	rec.Stop()
	_, host = recordWithViewers(g, "-a", "-O", "second")
	if other := session(host); other == first {
		t.Error("another recording has the same session")
	}
}

// TestGraph: a viewer sees who publishes what.
func TestGraph(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "talker")
	p := peers.Advertise(g, n, "/t", false)
	_, host := recordWithViewers(g, "-a")
	v := connect(t, host, viewer.Options{})
	offered(t, v, "/t")
	if !contains(last(v.Info()).Capabilities, "connectionGraph") {
		t.Errorf("capabilities %q", last(v.Info()).Capabilities)
	}
	if err := v.Conn.WriteJSON(map[string]string{"op": "subscribeConnectionGraph"}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the graph comes", func() bool {
		for _, e := range v.Events() {
			for _, topic := range e.Graph.PublishedTopics {
				if topic.Name == "/t" && contains(topic.PublisherIDs, n.Name()) {
					return true
				}
			}
		}
		return false
	})
	p.Close()
	harness.Eventually(t, "the topic is removed", func() bool {
		for _, e := range v.Events() {
			if contains(e.Graph.RemovedTopics, "/t") {
				return true
			}
			for _, topic := range e.Graph.PublishedTopics { // its subscriber may keep it in the graph
				if topic.Name == "/t" && len(topic.PublisherIDs) == 0 {
					return true
				}
			}
		}
		return false
	}, func() string { b, _ := json.Marshal(last(v.Events())); return string(b) })
}
