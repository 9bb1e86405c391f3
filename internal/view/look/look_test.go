package look_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/aler9/goroslib/pkg/msgs/geometry_msgs"
	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"github.com/aler9/goroslib/pkg/msgs/tf2_msgs"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/internal/view/look"
	"github.com/gorosbag/gorosbag/internal/view/scene"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a program with live panels only.
type backend struct{ panels *look.Panels }

func (backend) Program() string { return "gorecord" }

func (backend) Pages() fs.FS {
	return fstest.MapFS{"gorecord.html": {Data: []byte("x")}, "gorecord.js": {Data: []byte("x")}}
}
func (b backend) Routes(s *web.Server)           { b.panels.Routes(s) }
func (backend) Poll(time.Time) web.View          { return web.View{State: struct{}{}} }
func (backend) Changed() <-chan struct{}         { return nil }
func (backend) Describe(chan<- *prometheus.Desc) {}
func (backend) Collect(chan<- prometheus.Metric) {}

// number is a message with one float64.
func number(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }

// serve serves a store with the topic /x of numbers.
func serve(t *testing.T) (c *webtest.Client, store *live.Store, feed *live.Feed, began rosbag.Time) {
	t.Helper()
	store = live.NewStore(live.Limits{}, func(live.ChannelID) []live.Frame { return nil })
	feed = store.Open(live.Channel{Topic: "/x", Type: "test/Number", MD5Sum: "x", Definition: "float64 data\n"})
	now := time.Now()
	w := look.New(store, now)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return webtest.Serve(t, backend{look.NewPanels(w)}), store, feed, rosbag.TimeOf(now)
}

// TestLog: each page gets the lines that it wants, of those that were gathered once.
func TestLog(t *testing.T) {
	t.Parallel()
	c, store, _, began := serve(t)
	line := func(level int8, node, text string) rosgraph_msgs.Log {
		return rosgraph_msgs.Log{Level: level, Name: node, Msg: text}
	}
	h := rosmade.Header(t, line(2, "", ""))
	feed := store.Open(live.Channel{
		Topic: "/rosout", Type: h.Type(), MD5Sum: h.MD5Sum(), Definition: h.MessageDefinition(),
	})
	stop := putWhileWanted(t, feed, func(n int) (rosbag.Time, []byte) {
		lines := []rosgraph_msgs.Log{line(2, "/planner", "idle"), line(8, "/planner", "No Plan"), line(8, "/camera", "no light")}
		return began.Add(time.Duration(n) * time.Millisecond), rosmade.Payload(t, lines[n%3])
	})
	defer stop()
	for want, parameters := range map[string][]string{
		"idle": nil, "No Plan": {"level", "4"}, "no light": {"node", "CAMERA"},
	} {
		for {
			a := ask(c, "scene", append(parameters, "topic", "/rosout")...)
			var got struct {
				Scene struct{ Lines []scene.LogLine }
			}
			if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != 200 {
				t.Fatalf("status %d: %s", a.Status, a.Body)
			}
			if slices.ContainsFunc(got.Scene.Lines, func(l scene.LogLine) bool {
				return want != "idle" && l.Level < 4 && l.Node != "/camera" || want == "no light" && l.Node != "/camera"
			}) {
				t.Fatalf("%v: %v", parameters, got.Scene.Lines)
			}
			if slices.ContainsFunc(got.Scene.Lines, func(l scene.LogLine) bool { return l.Text == want }) {
				break
			}
		}
	}
	if a := ask(c, "scene", "topic", "/rosout", "level", "x"); a.Status != 400 {
		t.Errorf("a wrong level: status %d", a.Status)
	}
}

func ask(c *webtest.Client, name string, parameters ...string) webtest.Answer {
	q := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		q.Add(parameters[i], parameters[i+1])
	}
	return c.Get("/api/v1/look/" + name + "?" + q.Encode())
}

// feedWhileWanted puts numbers from 1 on, each millisecond of the recording, until the test has what it wants.
func feedWhileWanted(t *testing.T, feed *live.Feed, began rosbag.Time) (stop func()) {
	t.Helper()
	return putWhileWanted(t, feed, func(n int) (rosbag.Time, []byte) {
		return began.Add(time.Duration(n) * time.Millisecond), number(float64(n))
	})
}

// putWhileWanted puts messages until the test has what it wants.
func putWhileWanted(t *testing.T, feed *live.Feed, message func(n int) (rosbag.Time, []byte)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; ctx.Err() == nil; n++ {
			if feed.Wanted() {
				at, payload := message(n)
				feed.Put(at, payload, 0)
			}
			<-time.After(time.Millisecond)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestPanels: the latest message is shown, and a field is plotted from when a page asks for it.
func TestPanels(t *testing.T) {
	t.Parallel()
	c, store, feed, began := serve(t)
	if feed.Wanted() || store.Viewers() != 0 {
		t.Error("a topic is read that nobody looks at")
	}
	defer feedWhileWanted(t, feed, began)()
	a := ask(c, "message", "topic", "/x")
	if a.Status != 200 || !strings.Contains(a.Body, `"path":"data"`) || !strings.Contains(a.Body, `"type":"test/Number"`) {
		t.Fatalf("status %d, %s", a.Status, a.Body)
	}
	columns := 0
	for deadline := time.Now().Add(20 * time.Second); columns < 10 && time.Now().Before(deadline); {
		a := ask(c, "plot", "f", "/x|data", "f", "/x|none", "from", "0", "to", "100", "columns", "4096")
		first, last, _ := strings.Cut(strings.TrimSpace(a.Body), "\n")
		var part struct{ Columns [][6]float64 }
		if err := json.Unmarshal([]byte(first), &part); err != nil || a.Status != 200 || !strings.Contains(last, "no field") {
			t.Fatalf("%v, status %d, %s", err, a.Status, a.Body)
		}
		columns = len(part.Columns)
	}
	if columns < 10 {
		t.Errorf("%d columns", columns)
	}
	if a := ask(c, "values", "f", "/x|data"); a.Status != 200 || !strings.Contains(a.Body, `"text":"`) {
		t.Errorf("status %d, %s", a.Status, a.Body)
	}
	if a := ask(c, "copy", "topic", "/x"); a.Status != 200 || !strings.HasPrefix(a.Body, `{"data":`) {
		t.Errorf("status %d, %s", a.Status, a.Body)
	}
	if store.Viewers() != 1 {
		t.Errorf("%d viewers for all pages", store.Viewers())
	}
	for _, bad := range [][]string{
		{"message", "topic", "/none"},
		{"scene", "topic", "/x"},
		{"picture", "topic", "/x"},
		{"plot", "f", "/x"},
		{"plot", "f", "/x|data", "from", "5", "to", "1", "columns", "5"},
		{"plot", "f", "/x|data", "from", "NaN", "to", "1", "columns", "5"},
		{"plot", "f", "/x|data", "from", "0", "to", "1", "columns", "5000"},
	} {
		if a := ask(c, bad[0], bad[1:]...); a.Status != 400 && a.Status != 404 {
			t.Errorf("%v: status %d, %s", bad, a.Status, a.Body)
		}
	}
}

// TestOff: ten seconds after the last request nothing is read any more.
func TestOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := live.NewStore(live.Limits{}, func(live.ChannelID) []live.Frame { return nil })
		feed := store.Open(live.Channel{Topic: "/x", Type: "test/Number", MD5Sum: "x", Definition: "float64 data\n"})
		w := look.New(store, time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx)
		}()
		for range 3 {
			w.Want("/x", "data")
			synctest.Wait()
			if !feed.Wanted() || store.Viewers() != 1 {
				t.Fatal("a topic is not read that a page looks at")
			}
			time.Sleep(9 * time.Second)
		}
		if !feed.Wanted() {
			t.Error("the topic is not read any more after 9 s")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if feed.Wanted() || store.Viewers() != 0 {
			t.Error("a topic is read that nobody looks at any more")
		}
		cancel()
		<-done
	})
}

// TestTopicThatComesAgain: when its publishers have left and come again, the latest message is one of the new ones.
func TestTopicThatComesAgain(t *testing.T) {
	t.Parallel()
	c, store, feed, began := serve(t)
	stop := feedWhileWanted(t, feed, began)
	if a := ask(c, "message", "topic", "/x"); a.Status != 200 {
		t.Fatalf("status %d, %s", a.Status, a.Body)
	}
	stop()
	feed.Close()
	if a := ask(c, "message", "topic", "/x"); a.Status != 200 {
		t.Errorf("the last message of publishers that have left: status %d, %s", a.Status, a.Body)
	}
	again := store.Open(live.Channel{Topic: "/x", Type: "test/Text", MD5Sum: "y", Definition: "float64 other\n"})
	defer feedWhileWanted(t, again, began)()
	if a := ask(c, "message", "topic", "/x"); a.Status != 200 || !strings.Contains(a.Body, `"type":"test/Text"`) {
		t.Errorf("status %d, %s", a.Status, a.Body)
	}
}

// TestFrames: the tree has the frames that move and those that do not, whichever of their topics is looked at.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"/tf", "/tf_static"} {
		c, store, _, began := serve(t)
		sends := func(name, child, parent string) func() {
			m := tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{Header: std_msgs.Header{FrameId: parent}, ChildFrameId: child}}}
			h := rosmade.Header(t, m)
			feed := store.Open(live.Channel{Topic: name, Type: h.Type(), MD5Sum: h.MD5Sum(), Definition: h.MessageDefinition()})
			return putWhileWanted(t, feed, func(n int) (rosbag.Time, []byte) {
				return began.Add(time.Duration(n) * time.Millisecond), rosmade.Payload(t, m)
			})
		}
		defer sends("/tf", "base", "odom")()
		defer sends("/tf_static", "laser", "base")()
		want := []string{"odom", "base", "laser"}
		var got []string
		for deadline := time.Now().Add(20 * time.Second); !slices.Equal(got, want) && time.Now().Before(deadline); {
			var s struct {
				Scene struct{ Frames []struct{ Name string } }
			}
			a := ask(c, "scene", "topic", topic)
			if err := json.Unmarshal([]byte(a.Body), &s); err != nil || a.Status != 200 {
				t.Fatalf("%v, status %d, %s", err, a.Status, a.Body)
			}
			got = nil
			for _, f := range s.Scene.Frames {
				got = append(got, f.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: frames %q, want %q", topic, got, want)
		}
	}
}

// TestLongTexts: of the texts of a field no more is kept than a band shows.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := live.NewStore(live.Limits{}, func(live.ChannelID) []live.Frame { return nil })
		feed := store.Open(live.Channel{Topic: "/log", Type: "test/Text", MD5Sum: "x", Definition: "string data\n"})
		w := look.New(store, time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx)
		}()
		w.Want("/log", "data")
		const each = 100_000
		payload := append(binary.LittleEndian.AppendUint32(nil, each), strings.Repeat("x", each)...)
		for n := range 20 {
			synctest.Wait()
			feed.Put(rosbag.TimeOf(time.Now()).Add(time.Duration(n)*time.Millisecond), payload, 0)
		}
		synctest.Wait()
		if values, bytes := w.KeptText("/log", "data"); values < 5 || bytes > 300*values {
			t.Errorf("%d values with texts of %d bytes", values, bytes)
		}
		cancel()
		<-done
	})
}
