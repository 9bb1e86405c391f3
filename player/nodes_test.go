package player_test

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/tcpros"
)

// another opens a node by its full name, as Options.NewNode does.
func (w *world) another(ctx context.Context, name string) (*tcpros.Node, error) {
	namespace, base := path.Split(name)
	return tcpros.NewNode(ctx, tcpros.NodeOptions{
		BaseName: base, Args: tcpros.Args{Namespace: namespace}, MasterURI: w.master.URI(), Bind: "127.0.0.1",
		Getenv: func(key string) string { return map[string]string{"ROS_IP": "127.0.0.1"}[key] },
	})
}

// sources collects the publishers of each topic, with their latching.
type sources struct {
	mu    sync.Mutex
	texts map[string][]string // by caller ID and latching
}

func (s *sources) open(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
	get := func(key string) string {
		for _, f := range info.Header {
			if f.Key == key {
				return f.Value
			}
		}
		return ""
	}
	return &sourceSink{s, get("callerid") + " " + get("latching")}, nil
}

func (s *sources) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, texts := range s.texts {
		n += len(texts)
	}
	return n
}

type sourceSink struct {
	all *sources
	who string
}

func (l *sourceSink) Frames(run []byte, count int, _ time.Time) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	for range count {
		n := 4 + int(run[0])
		l.all.texts[l.who] = append(l.all.texts[l.who], string(run[8:n]))
		run = run[n:]
	}
}
func (l *sourceSink) Closed(error) {}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(timeout); !ok(); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// Each recorded publisher gets its own node; a name that is in use is left alone.
func TestRespectPublishers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live := w.newNode("live")
	if _, err := live.Advertise(tcpros.AdvertiseOptions{Topic: "/other", Type: "std_msgs/String", MD5Sum: "*"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the live node is known", func() bool {
		_, err := w.node.Master().LookupNode(t.Context(), "/live")
		return err == nil
	})
	heard := &sources{texts: map[string][]string{}}
	if _, err := w.newNode("listener").Subscribe(tcpros.SubscribeOptions{Topic: "/chatter", Open: heard.open}); err != nil {
		t.Fatal(err)
	}
	var messages []testplay.Message
	for i, caller := range []string{"/cam/left", "/live", "", "/1 odd-name", "/cam/left", "/play", "/map", "/live_play"} {
		messages = append(messages, testplay.Message{
			Conn: testplay.Conn{Topic: "chatter", CallerID: caller, Latching: caller == "/map"}, At: time.Duration(i), Text: caller + " " + string(rune('a'+i)),
		})
	}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	core, logs := observer.New(zap.InfoLevel)
	stop, result := w.start(player.Options{
		Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true, KeepAlive: true, Log: zap.New(core), NewNode: w.another,
	})
	eventually(t, "all messages", func() bool { return heard.count() == len(messages) })
	want := map[string][]string{
		"/cam/left 0":  {"/cam/left a", "/cam/left e"},
		"/live_play 0": {"/live b"},
		// The other one has its name, which the master does not know yet.
		"/live_play_play 0": {"/live_play h"},
		"/play 0":           {" c", "/play f"},
		"/n1_odd_name 0":    {"/1 odd-name d"},
		"/map 1":            {"/map g"},
	}
	if d := cmp.Diff(want, heard.texts); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	state, err := w.node.Master().SystemState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(state.Publishers["/chatter"])
	if d := cmp.Diff([]string{"/cam/left", "/live_play", "/live_play_play", "/map", "/n1_odd_name", "/play"}, state.Publishers["/chatter"]); d != "" {
		t.Errorf("publishers (-want +got):\n%s", d)
	}
	if logs.FilterMessageSnippet("is there already").Len() != 2 {
		t.Errorf("log %v", logs.All())
	}
	stop()
	if s := result(); s.Messages != uint64(len(messages)) || s.Lossy() {
		t.Errorf("summary %+v", s)
	}
	if state, err = w.node.Master().SystemState(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(slices.Concat(slices.Collect(maps.Values(state.Publishers))...), func(n string) bool {
		return slices.Contains([]string{"/live", "/play"}, n)
	})
	if len(left) > 0 {
		t.Errorf("still at the master: %v", left)
	}
}

// At the end each node delivers what is queued.
func TestRespectPublishersDrain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.listen("listener", "/chatter", nil)
	messages, texts := numbered(testplay.Conn{Topic: "chatter", CallerID: "/talker"}, 500, 0, 2000)
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	_, result := w.start(player.Options{Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true, Immediate: true, NewNode: w.another})
	if s := result(); s.Messages != uint64(len(texts)) || s.Lossy() {
		t.Errorf("summary %+v", s)
	}
	if d := cmp.Diff(texts, l.wait(untilClosed)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What cannot be opened is an error, and leaves nothing behind.
func TestRespectPublishersFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failure := errors.New("no more sockets")
	messages := []testplay.Message{{Conn: testplay.Conn{Topic: "/a", CallerID: "/x"}}, {Conn: testplay.Conn{Topic: "/a", CallerID: "/y"}}}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	_, err := player.Run(t.Context(), player.Options{
		Node: w.node, Bags: testplay.OpenBags(t, bag),
		NewNode: func(ctx context.Context, name string) (*tcpros.Node, error) {
			if name == "/y" {
				return nil, failure
			}
			return w.another(ctx, name)
		},
	})
	if !errors.Is(err, failure) || !strings.Contains(err.Error(), "node /y") {
		t.Errorf("got %v", err)
	}
}
