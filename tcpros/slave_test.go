package tcpros_test

import (
	"net"
	"net/url"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// reply makes a call and returns the whole answer, for any code.
func reply(t *testing.T, uri, method string, args ...any) ([]any, error) {
	t.Helper()
	hc := xmlrpc.NewHTTPClient(patience)
	defer hc.CloseIdleConnections()
	v, err := xmlrpc.Call(t.Context(), hc, uri, method, args...)
	if err != nil {
		return nil, err
	}
	return v.([]any), nil
}

func TestSlaveAPI(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("n", m.URI()))
	p := advertise(t, n, "/t", 0)
	s := subscribe(t, n, "/t", &inbox{})
	waitFor(t, "the link to itself", func() bool { return p.Subscribers() == 1 && s.Publishers() == 1 })
	port := 0
	if _, text, err := net.SplitHostPort(tcprosAddress(t, n, "/t")); err == nil {
		port, _ = net.LookupPort("tcp", text)
	}
	tests := map[string]struct {
		args []any
		want []any
	}{
		"getPid":           {nil, []any{1, "", os.Getpid()}},
		"getUri":           {nil, []any{1, "", n.URI()}},
		"getName":          {nil, []any{1, "", "/n"}},
		"getMasterUri":     {nil, []any{1, "", m.URI()}},
		"getSubscriptions": {nil, []any{1, "", []any{[]any{"/t", "*"}}}},
		"getPublications":  {nil, []any{1, "", []any{[]any{"/t", stringType}}}},
		"paramUpdate":      {[]any{"/p", 1}, []any{1, "", 0}},
		"publisherUpdate":  {[]any{"/unknown", []any{}}, []any{1, "not subscribed", 0}},
		"requestTopic":     {[]any{"/t", []any{[]any{"TCPROS"}}}, []any{1, "ready", []any{"TCPROS", "127.0.0.1", port}}},
		"shutdown":         {[]any{"user request"}, []any{-1, "this node does not let others shut it down", 0}},
	}
	for method, tt := range tests {
		got, err := reply(t, n.URI(), method, append([]any{"/caller"}, tt.args...)...)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", method, err, diff)
		}
	}
	if u, err := url.Parse(n.URI()); err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/" {
		t.Errorf("URI is %s", n.URI())
	}
}

// rosnode parses the last element of an entry of getBusInfo with this expression.
var rosnodePattern = regexp.MustCompile(`^\w+ connection on port (\d+) to \[(.*) on socket (\d+)\]`)

func TestBusInfo(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("n", m.URI()))
	p := advertise(t, n, "/t", 0)
	s := subscribe(t, n, "/t", &inbox{})
	waitFor(t, "the link to itself", func() bool { return p.Subscribers() == 1 && s.Publishers() == 1 })
	p.Source(false).Publish(frame("hello"))
	rows := call(t, n.URI(), "getBusInfo", "/c").([]any)
	if len(rows) != 2 {
		t.Fatalf("rows: %v", rows)
	}
	for i, want := range [][]any{{"/n", "o"}, {n.URI(), "i"}} {
		r := rows[i].([]any)
		if len(r) != 7 || r[1] != want[0] || r[2] != want[1] || r[3] != "TCPROS" || r[4] != "/t" || r[5] != true {
			t.Errorf("row %v", r)
		}
		if got := rosnodePattern.FindStringSubmatch(r[6].(string)); got == nil || got[1] == "0" || got[3] == "0" {
			t.Errorf("link %q", r[6])
		}
	}
	waitFor(t, "the counters", func() bool {
		stats := call(t, n.URI(), "getBusStats", "/c").([]any)
		out := stats[0].([]any)[0].([]any)
		in := stats[1].([]any)[0].([]any)
		o := out[2].([]any)[0].([]any)
		i := in[1].([]any)[0].([]any)
		return out[0] == "/t" && out[1] == 9 && o[1] == 9 && o[2] == 1 && o[3] == true &&
			in[0] == "/t" && i[1] == 9 && i[2] == 1 && i[4] == true
	})
}

func TestShutdown(t *testing.T) {
	m := newMaster(t)
	o := nodeOptions("n", m.URI())
	asked := make(chan string, 2)
	o.OnShutdown = func(reason, peer string) { asked <- reason; asked <- peer }
	n := newNode(t, o)
	if got, err := reply(t, n.URI(), "shutdown", "/rosnode", "user request"); err != nil || got[0] != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if reason := <-asked; reason != "user request" {
		t.Errorf("reason %q", reason)
	}
	if host, _, err := net.SplitHostPort(<-asked); err != nil || host != "127.0.0.1" {
		t.Errorf("peer %q", host)
	}
}

// A second node of the same name makes the master shut the first one down.
func TestNameClash(t *testing.T) {
	m := newMaster(t)
	o := nodeOptions("n", m.URI())
	asked := make(chan string, 2)
	o.OnShutdown = func(reason, _ string) { asked <- reason }
	first := newNode(t, o)
	subscribe(t, first, "/t", &inbox{})
	waitFor(t, "the first registration", func() bool { return registered(t, m.URI(), "/t") })
	second := newNode(t, nodeOptions("n", m.URI()))
	subscribe(t, second, "/u", &inbox{})
	if reason := <-asked; reason != "[/n] Reason: new node registered with same name" {
		t.Errorf("reason %q", reason)
	}
}

func TestNodeOptionsRefused(t *testing.T) {
	for name, o := range map[string]tcpros.NodeOptions{
		"no name":    {},
		"master URI": {BaseName: "n", MasterURI: "nonsense"},
		"host":       {BaseName: "n", Args: tcpros.Args{Hostname: "a b"}},
		"bind":       {BaseName: "n", Bind: "203.0.113.7"},
		"remap":      {BaseName: "n", Args: tcpros.Args{Remaps: []tcpros.Remap{{From: "a b", To: "c"}}}},
	} {
		o.Getenv = noEnv
		if n, err := tcpros.NewNode(t.Context(), o); err == nil {
			t.Errorf("%s: accepted", name)
			_ = n.Close(t.Context())
		}
	}
}

func TestAnonymousName(t *testing.T) {
	o := nodeOptions("record", newMaster(t).URI())
	o.Anonymous = true
	if n := newNode(t, o); !regexp.MustCompile(`^/record_\d{19}$`).MatchString(n.Name()) {
		t.Errorf("named %s", n.Name())
	}
}
