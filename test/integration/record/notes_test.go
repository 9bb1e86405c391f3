package record_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestNotesAndMarks: stock's Python reads the notes in each file, and the marks of a service, a
// topic and HTTP with the times at which they came.
func TestNotesAndMarks(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100_000)
	host := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Record("/t", "-O", "out", "--split", "--note", "robot=r1", "--note=site = hall 3", "--note", "robot=r2", "--http="+host, "__name:=rec")
	f.WaitSent(20)
	n := peers.Node(g, "marks")
	call := func(service string) string {
		answer, err := n.CallService(t.Context(), service, tcpros.TriggerService, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := stdmsg.DecodeOutcome(answer)
		if err != nil || !o.Success {
			t.Fatalf("%s: %+v, %v", service, o, err)
		}
		return o.Message
	}
	g.Eventually("the services are registered", func() bool {
		_, err := n.Master().LookupService(t.Context(), "/rec/split")
		return err == nil
	})
	began := time.Now()
	if got := call("/rec/mark"); got != `marked "mark 1"` {
		t.Errorf("~mark answers %q", got)
	}
	pub, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/rec/mark", Type: "std_msgs/String", MD5Sum: "992ce8a1687cec8c8bd883ec73ca41d1", MessageDefinition: "string data\n", Latching: true})
	if err != nil {
		t.Fatal(err)
	}
	source := pub.Source(true)
	for _, text := range []string{"door öffnet", "two\nlines", ""} {
		data := bags.StringData(text)
		source.Publish(append([]byte{byte(len(data)), 0, 0, 0}, data...))
		if text == "door öffnet" {
			rec.Printed(`Mark {"text": "door öffnet"}`)
		}
	}
	for body, want := range map[string]int{`{"text":"from a browser"}`: http.StatusOK, `{"text":"a\nb"}`: http.StatusBadRequest} {
		resp, err := http.Post("http://"+host+"/api/v1/mark", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%s: status %d", body, resp.StatusCode)
		}
	}
	ended := time.Now()
	call("/rec/split")
	f.WaitSent(f.Sent.Load() + 20)
	rec.Stop()
	var paths []string
	for _, name := range bags.Names(g, "out") {
		paths = append(paths, filepath.Join(g.Dir, "out"+name))
	}
	bags := bags.Annotations(g, paths...)
	if len(bags) != 2 {
		t.Fatalf("%d bags", len(bags))
	}
	for i, b := range bags {
		if d := cmp.Diff(map[string]string{"robot": "r2", "site": "hall 3"}, b.Tags); d != "" {
			t.Errorf("bag %d, as bag-database reads it: %s", i, d)
		}
		if d := cmp.Diff(map[string]any{"robot": "r2", "site": "hall 3"}, b.YAML); d != "" {
			t.Errorf("bag %d, as rosbag_metadata reads it: %s", i, d)
		}
		if !slices.Equal(b.Types, []string{"std_msgs/String"}) {
			t.Errorf("bag %d: types %v", i, b.Types)
		}
	}
	var marks []string
	for _, m := range bags[0].Marks {
		at, text := time.Unix(0, int64(m[0].(float64))), m[1].(string)
		if at.Before(began.Add(-time.Millisecond)) || ended.Before(at) {
			t.Errorf("%q is at %v, not between %v and %v", text, at, began, ended)
		}
		marks = append(marks, text)
	}
	if !slices.Equal(marks, []string{"mark 1", "door öffnet", "from a browser"}) || len(bags[1].Marks) != 0 {
		t.Errorf("marks %q, then %v", marks, bags[1].Marks)
	}
}

// TestWrongNote: a note that cannot be written is an error before the recording starts.
func TestWrongNote(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for note, want := range map[string]string{"robot": "write key=value", "a:b=c": "must not contain a colon", "a=": "the value is missing"} {
		g.Start("gorecord", "-a", "-O", "out", "--note", note).Ended(1, fmt.Sprintf("--note: %q: ", note), want)
	}
	if names := bags.Names(g, "out"); len(names) > 0 {
		t.Errorf("files: %v", names)
	}
}
