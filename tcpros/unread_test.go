package tcpros_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestLongNamesAreLeftOut: a name of any length, which any node can register, costs other names
// nothing: all replies of the master are read except that name, and the log says so.
func TestLongNamesAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	f := newFront(t, m.URI())
	p := newFakePublisher(t, "/t", sends("/t", frame("x")))
	p.register(m.URI(), "/fake")
	huge, long := "/"+strings.Repeat("x", 17<<20), "/"+strings.Repeat("x", 20_000)
	answers := map[string]any{
		"getPublishedTopics": []any{[]any{huge, "a/A"}, []any{"/t", stringType}, []any{"/typed", long}},
		"getTopicTypes":      []any{[]any{"/t", stringType}, []any{long, "a/A"}},
		"getSystemState": []any{
			[]any{[]any{long, []any{"/a"}}, []any{"/t", []any{"/fake", long}}}, []any{[]any{"/t", []any{"/sub"}}}, []any{[]any{long, []any{"/a"}}},
		},
		"registerSubscriber": []any{long, p.uri},
		"getParam":           map[string]any{"a": 1, "b": huge},
	}
	replies := map[string][]byte{}
	for method, answer := range answers {
		reply, err := xmlrpc.AppendResponse(nil, []any{1, long, answer})
		if err != nil {
			t.Fatal(err)
		}
		replies[method] = reply
	}
	f.set(m.URI(), func(w http.ResponseWriter, call string) bool {
		for method, reply := range replies {
			if strings.Contains(call, "<methodName>"+method+"<") && !strings.Contains(call, "tcp_keepalive") && !strings.Contains(call, "run_id") {
				_, _ = w.Write(reply)
				return true
			}
		}
		return false
	})
	o := nodeOptions("sub", f.URL)
	log, logs := observedLog()
	o.Log = log
	n := newNode(t, o)
	b := &inbox{}
	subscribe(t, n, "/t", b)
	waitFor(t, "the message of the publisher beside", func() bool { return b.count() == 1 })
	for range 2 { // the second list is compared with the first
		var topics []tcpros.TopicInfo
		var err error
		waitFor(t, "the topics", func() bool {
			topics, err = n.Master().PublishedTopics(t.Context())
			return err == nil
		})
		if diff := cmp.Diff([]tcpros.TopicInfo{{Name: "/t", Type: stringType}, {Name: "/typed", Type: "*"}}, topics); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	types, err := n.Master().TopicTypes(t.Context())
	if diff := cmp.Diff([]tcpros.TopicInfo{{Name: "/t", Type: stringType}}, types); err != nil || diff != "" {
		t.Error(err, diff)
	}
	state, err := n.Master().SystemState(t.Context())
	want := tcpros.SystemState{
		Publishers: map[string][]string{"/t": {"/fake"}}, Subscribers: map[string][]string{"/t": {"/sub"}}, Services: map[string][]string{},
	}
	if diff := cmp.Diff(want, state); err != nil || diff != "" {
		t.Error(err, diff)
	}
	var params any
	var ok bool
	waitFor(t, "the parameters", func() bool { // on a busy machine a call may be late
		params, ok, err = n.Master().Param(t.Context(), "/")
		return err == nil
	})
	if diff := cmp.Diff(map[string]any{"a": 1, "b": xmlrpc.Skipped{Bytes: int64(len(huge))}}, params); err != nil || !ok || diff != "" {
		t.Error(err, ok, diff)
	}
	unread, ever := n.Unread()
	for method := range answers {
		// A call that is made only once has no later reply, so Unread does not report it as a
		// present state.
		once := method == "getTopicTypes" || method == "getParam"
		if strings.Contains(unread, method) == once {
			t.Errorf("%s: not read: %q", method, unread)
		}
	}
	if logs.FilterMessageSnippet("cannot be read in full").Len() == 0 || ever == "" {
		t.Error("it is not told")
	}
	// Once the name is gone, all replies are read in full.
	f.set(m.URI(), nil)
	if topics, err := n.Master().PublishedTopics(t.Context()); err != nil || len(topics) != 1 {
		t.Errorf("%v, %v", topics, err)
	}
	if now, ever := n.Unread(); strings.Contains(now, "getPublishedTopics") || ever == "" {
		t.Errorf("not read: now %q, ever %q", now, ever)
	}
}

// TestLongSubscriberURI: a URI of a subscriber that is too long does not affect a publisher.
func TestLongSubscriberURI(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	f := newFront(t, m.URI())
	long := "http://" + strings.Repeat("x", 20_000) + "/"
	reply, err := xmlrpc.AppendResponse(nil, []any{1, "", []any{long}})
	if err != nil {
		t.Fatal(err)
	}
	var registered atomic.Int64
	node, err := xmlrpc.AppendResponse(nil, []any{1, "", long})
	if err != nil {
		t.Fatal(err)
	}
	f.set(m.URI(), func(w http.ResponseWriter, call string) bool {
		switch {
		case strings.Contains(call, "<methodName>registerPublisher<"):
			registered.Add(1)
			_, _ = w.Write(reply)
		case strings.Contains(call, "<methodName>lookupNode<"):
			_, _ = w.Write(node)
		default:
			return false
		}
		return true
	})
	o := nodeOptions("pub", f.URL)
	log, logs := observedLog()
	o.Log = log
	n := newNode(t, o)
	advertise(t, n, "/t", 10)
	waitFor(t, "the registration", func() bool { return registered.Load() > 0 })
	if _, err := n.Master().LookupNode(t.Context(), "/other"); !errors.Is(err, xmlrpc.ErrLimit) {
		t.Errorf("a URI that cannot be read: %v", err)
	}
	if logs.FilterMessageSnippet("refused").Len() != 0 {
		t.Errorf("%v", logs.All())
	}
	if _, ever := n.Unread(); !strings.Contains(ever, "registerPublisher") && !strings.Contains(ever, "lookupNode") {
		t.Errorf("not read: %q", ever)
	}
}

// TestUnreadReply: a malformed reply is reported, too.
func TestUnreadReply(t *testing.T) {
	t.Parallel()
	f := newFront(t, newMaster(t).URI())
	f.set("", func(w http.ResponseWriter, call string) bool {
		_, _ = w.Write([]byte("<value>a</value>"))
		return strings.Contains(call, "<methodName>")
	})
	n := newNode(t, nodeOptions("n", f.URL))
	if _, err := n.Master().PublishedTopics(t.Context()); err == nil {
		t.Error("read")
	}
	if unread, _ := n.Unread(); !strings.Contains(unread, "getPublishedTopics: ") || !strings.Contains(unread, "instead of") {
		t.Errorf("not read: %q", unread)
	}
}
