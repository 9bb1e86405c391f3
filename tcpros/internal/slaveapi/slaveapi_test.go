package slaveapi

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/sublink"
)

// newServer returns the server of a node that publishes two topics and subscribes to one. Its only link, to a
// publisher, is not up.
func newServer() *Server {
	out := func(topic, typ string) *publink.Publication {
		return publink.New(publink.Options{Type: typ, MD5Sum: "*"}, topic, "/n")
	}
	in := sublink.New(sublink.NewConnector(&sublink.Env{Log: zap.NewNop(), NextLink: func() int { return 7 }}),
		"/c", sublink.Options{Type: "std_msgs/Empty"})
	in.SetPublishers(rosapi.Publishers{URIs: []string{"http://there:5/"}})
	return &Server{
		Name: "/n", URI: "http://here:1/", MasterURI: "http://master:2/", Host: "here", Port: 3, Log: zap.NewNop(),
		Publications: func() []*publink.Publication {
			return []*publink.Publication{out("/a", "std_msgs/String"), out("/b", "*")}
		},
		Subscriptions: func() []*sublink.Subscription {
			return []*sublink.Subscription{in}
		},
		Publishes:       func(topic string) bool { return topic == "/a" },
		UDPOnly:         func(string, string, string) {},
		PublisherUpdate: func(topic string, _ []string) bool { return topic == "/c" },
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tcpros := []any{"TCPROS"}
	for call, tc := range map[string]struct {
		method string
		args   []any
		want   []any
	}{
		"process":          {"getPid", nil, []any{1, "", os.Getpid()}},
		"address":          {"getUri", nil, []any{1, "", "http://here:1/"}},
		"name":             {"getName", nil, []any{1, "", "/n"}},
		"master":           {"getMasterUri", nil, []any{1, "", "http://master:2/"}},
		"subscriptions":    {"getSubscriptions", nil, []any{1, "", []any{[]any{"/c", "std_msgs/Empty"}}}},
		"publications":     {"getPublications", nil, []any{1, "", []any{[]any{"/a", "std_msgs/String"}, []any{"/b", "*"}}}},
		"no link is up":    {"getBusInfo", nil, []any{1, "", []any{}}},
		"no counts":        {"getBusStats", nil, []any{1, "", []any{[]any{[]any{"/a", 0, []any{}}, []any{"/b", 0, []any{}}}, []any{[]any{"/c", []any{[]any{7, 0, 0, -1, false}}}}, []any{}}}},
		"parameter":        {"paramUpdate", []any{"/p", 1}, []any{1, "", 0}},
		"publishers":       {"publisherUpdate", []any{"/c", []any{"http://x:4/"}}, []any{1, "", 0}},
		"of another topic": {"publisherUpdate", []any{"/x", []any{}}, []any{1, "not subscribed", 0}},
		"number as URI":    {"publisherUpdate", []any{"/c", []any{"http://x:4/", 1}}, []any{-1, "ERROR: publisherUpdate takes a topic and a list of URIs", 0}},
		"text as URIs":     {"publisherUpdate", []any{"/c", "x"}, []any{-1, "ERROR: publisherUpdate takes a topic and a list of URIs", 0}},
		"no topic":         {"publisherUpdate", nil, []any{-1, "ERROR: publisherUpdate takes a topic and a list of URIs", 0}},
		"topic":            {"requestTopic", []any{"/a", []any{tcpros}}, []any{1, "ready", []any{"TCPROS", "here", 3}}},
		"second choice":    {"requestTopic", []any{"/a", []any{[]any{"UDPROS", "b", 1, 2}, tcpros}}, []any{1, "ready", []any{"TCPROS", "here", 3}}},
		"topic of others":  {"requestTopic", []any{"/x", []any{tcpros}}, []any{-1, "Not a publisher of [/x]", []any{}}},
		"only UDPROS":      {"requestTopic", []any{"/a", []any{[]any{"UDPROS", "b", 1, 2}}}, []any{0, "no supported protocol implementations", []any{}}},
		"no protocol":      {"requestTopic", []any{"/a", []any{}}, []any{0, "no supported protocol implementations", []any{}}},
		"odd protocols":    {"requestTopic", []any{"/a", []any{1, []any{}, []any{2}}}, []any{0, "no supported protocol implementations", []any{}}},
		"protocols amiss":  {"requestTopic", []any{"/a"}, []any{-1, "ERROR: requestTopic takes a topic and a list of protocols", []any{}}},
		"number as topic":  {"requestTopic", []any{1, []any{}}, []any{-1, "ERROR: requestTopic takes a topic and a list of protocols", []any{}}},
	} {
		got, err := newServer().Answer(t.Context(), "peer", tc.method, append([]any{"/caller"}, tc.args...))
		if d := cmp.Diff(any(tc.want), got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", call, err, d)
		}
	}
}

// TestUDPOnly: a subscriber that takes no protocol of ours but UDPROS is told with its name. One that takes TCPROS, too,
// or none that we know, is not.
func TestUDPOnly(t *testing.T) {
	t.Parallel()
	tcp, udp := []any{"TCPROS"}, []any{"UDPROS", []byte("header"), "there", 1234, 1500}
	for name, tc := range map[string]struct {
		topic     string
		protocols []any
		want      string
	}{
		"only UDPROS":     {"/a", []any{udp}, "/a /listener 10.0.0.7:1"},
		"UDPROS first":    {"/a", []any{udp, tcp}, ""},
		"TCPROS":          {"/a", []any{tcp}, ""},
		"unknown":         {"/a", []any{[]any{"SHM"}}, ""},
		"topic of others": {"/x", []any{udp}, ""},
	} {
		s, told := newServer(), ""
		s.UDPOnly = func(topic, caller, peer string) { told += topic + " " + caller + " " + peer }
		if _, err := s.Answer(t.Context(), "10.0.0.7:1", "requestTopic", []any{"/listener", tc.topic, tc.protocols}); err != nil || told != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, told, err, tc.want)
		}
	}
}

// TestFaults: a call that no method understands is a fault that names the method.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range [][]any{{"nonsense", "/c"}, {"getPid"}, {"getPid", 7}, {"system.listMethods"}} {
		method := c[0].(string)
		_, err := newServer().Answer(t.Context(), "peer", method, c[1:])
		if f := (*xmlrpc.Fault)(nil); !errors.As(err, &f) || f.Code != -1 || !strings.HasPrefix(f.Text, method+": ") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestPublisherUpdate: the node gets the URIs in the order of the call.
func TestPublisherUpdate(t *testing.T) {
	t.Parallel()
	s, got := newServer(), ""
	s.PublisherUpdate = func(topic string, uris []string) bool { got = fmt.Sprint(topic, uris); return true }
	if _, err := s.Answer(t.Context(), "peer", "publisherUpdate", []any{"/master", "/c", []any{"http://y/", "http://x/"}}); err != nil {
		t.Fatal(err)
	}
	if got != "/c[http://y/ http://x/]" {
		t.Errorf("updated %s", got)
	}
}

// TestShutdown: a request is logged with its peer. The reason, which others write, is clipped.
func TestShutdown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		accept bool
		reason []any
		code   int
		logged string
	}{
		"accepted":      {true, []any{"user request"}, 1, "Shutdown request received."},
		"without words": {true, nil, 1, "Shutdown request received."},
		"endless words": {true, []any{long}, 1, "Shutdown request received."},
		"refused":       {false, []any{"user request"}, -1, "shutdown request refused"},
	} {
		s, asked := newServer(), []string(nil)
		core, logs := observer.New(zap.InfoLevel)
		s.Log = zap.New(core)
		if tc.accept {
			s.Shutdown = func(reason, peer string) { asked = []string{reason, peer} }
		}
		got, err := s.Answer(t.Context(), "10.0.0.7:1234", "shutdown", append([]any{"/rosnode"}, tc.reason...))
		if err != nil || got.([]any)[0] != tc.code {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		reason, _ := logs.All()[0].ContextMap()["reason"].(string)
		if logs.Len() != 1 || logs.All()[0].Message != tc.logged || logs.All()[0].ContextMap()["peer"] != "10.0.0.7:1234" {
			t.Errorf("%s: log %v", name, logs.All())
		}
		if len(tc.reason) > 0 && !strings.HasPrefix(tc.reason[0].(string), reason[:10]) || len(reason) > 1000 {
			t.Errorf("%s: a reason of %d bytes is logged", name, len(reason))
		}
		if want := []string{reason, "10.0.0.7:1234"}; tc.accept != slices.Equal(asked, want) {
			t.Errorf("%s: the node was asked %q", name, asked)
		}
	}
}

// TestWire32: counters wrap as those of roscpp do.
func TestWire32(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]int{0: 0, 1<<31 - 1: 1<<31 - 1, 1 << 31: -1 << 31, 1<<32 + 5: 5} {
		if got := wire32(n); got != want {
			t.Errorf("%d becomes %d, want %d", n, got, want)
		}
	}
}
