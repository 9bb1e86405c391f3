package view_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/internal/view"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const demo = "../../testdata/demo.bag"

// backend is a program with panels only.
type backend struct{ viewer *view.Viewer }

func (backend) Program() string { return "gobag" }
func (backend) Pages() fs.FS {
	return fstest.MapFS{"gobag.html": {Data: []byte("x")}, "gobag.js": {Data: []byte("x")}}
}
func (b backend) Routes(s *web.Server)           { b.viewer.Routes(s) }
func (backend) Poll(time.Time) web.View          { return web.View{State: struct{}{}} }
func (backend) Changed() <-chan struct{}         { return nil }
func (backend) Describe(chan<- *prometheus.Desc) {}
func (backend) Collect(chan<- prometheus.Metric) {}

// serve serves bags.
func serve(t *testing.T, paths ...string) *webtest.Client {
	t.Helper()
	var list []*bags.Recording
	for _, path := range paths {
		r, err := bags.Open(t.Context(), path, bags.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		list = append(list, r)
	}
	v := view.New(nil)
	v.Show(list, view.Options{})
	return webtest.Serve(t, backend{v})
}

// TestOpening: until the bags are open, the page learns how far that is.
func TestOpening(t *testing.T) {
	t.Parallel()
	v := view.New(func() view.Opening { return view.Opening{Name: "Reading x.bag", Done: 3, Total: 12} })
	c := webtest.Serve(t, backend{v})
	if got := ask(t, c, "state", 200); got != `{"opening":{"name":"Reading x.bag","done":3,"total":12}}`+"\n" {
		t.Errorf("state: %s", got)
	}
	ask(t, c, "message", 503, "topic", "/x", "at", "1")
	v.Show(nil, view.Options{})
	if got := ask(t, c, "state", 200); !strings.Contains(got, `"topics":[]`) {
		t.Errorf("state: %s", got)
	}
}

// ask asks for an endpoint with parameters: names and values by turns.
func ask(t *testing.T, c *webtest.Client, name string, status int, parameters ...string) string {
	t.Helper()
	q := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		q.Add(parameters[i], parameters[i+1])
	}
	a := c.Get("/api/v1/view/" + name + "?" + q.Encode())
	if a.Status != status {
		t.Errorf("%s %v: status %d, want %d: %s", name, parameters, a.Status, status, a.Body)
	}
	return a.Body
}

type message struct {
	ID, Time, Type, Error string
	At                    float64
	Tree                  json.RawMessage
}

func decode[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	return v
}

func TestState(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	s := decode[struct {
		Duration float64
		Messages int
		Topics   []struct {
			Name, Type string
			Messages   int
			Latched    bool
			Bytes      int
		}
	}](t, ask(t, c, "state", 200))
	if s.Duration < 9 || s.Duration > 11 || len(s.Topics) < 5 {
		t.Fatalf("%+v", s)
	}
	total := 0
	for _, topic := range s.Topics {
		total += topic.Messages
		if topic.Name == "/map" && !topic.Latched || topic.Name == "/odom" && (topic.Bytes < 700*topic.Messages || topic.Bytes > 800*topic.Messages) {
			t.Errorf("%+v", topic)
		}
	}
	if total != s.Messages {
		t.Errorf("%d messages of topics, %d of the bag", total, s.Messages)
	}
	ask(t, c, "state", 404, "bag", "7")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	at := decode[message](t, ask(t, c, "message", 200, "topic", "/odom", "at", "5"))
	next := decode[message](t, ask(t, c, "message", 200, "topic", "/odom", "id", at.ID, "go", "next"))
	back := decode[message](t, ask(t, c, "message", 200, "topic", "/odom", "id", next.ID, "go", "previous"))
	if at.Type != "nav_msgs/Odometry" || at.At > 5 || at.Error != "" || next.At <= 5 || back.ID != at.ID || !strings.Contains(string(at.Tree), `"path":"pose.pose.orientation:yaw"`) {
		t.Errorf("%+v, then %+v, back %+v", at, next, back)
	}
	copied := decode[map[string]any](t, ask(t, c, "copy", 200, "topic", "/odom", "id", at.ID))
	if copied["child_frame_id"] == nil {
		t.Errorf("copied: %v", copied)
	}
	for _, bad := range [][]string{{"topic", "/none", "at", "5"}, {"topic", "/odom", "id", next.ID + "9"}} {
		ask(t, c, "message", 404, bad...)
	}
	for _, bad := range [][]string{{"topic", "/odom"}, {"topic", "/odom", "at", "NaN"}, {"topic", "/odom", "id", "x"}, {"topic", "/odom", "at", "1", "from", "-1"}} {
		ask(t, c, "message", 400, bad...)
	}
}

// TestCSVOfDamage: a file of values says that some are missing.
func TestCSVOfDamage(t *testing.T) {
	t.Parallel()
	bag, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.bag")
	for _, damaged := range []bool{false, true} {
		if damaged { // the data of its chunks, not the index
			for i := len(bag) / 3; i < len(bag)/3+2000; i++ {
				bag[i] ^= 0x5a
			}
		}
		if err := os.WriteFile(path, bag, 0o600); err != nil {
			t.Fatal(err)
		}
		csv := ask(t, serve(t, path), "csv", 200, "from", "0", "to", "10", "f", "/odom|pose.pose.position.x")
		if strings.Contains(csv, "# values are missing: damage in ") != damaged || strings.Count(csv, "\n") < 100 {
			t.Errorf("damaged %t: %d lines, the last one %q", damaged, strings.Count(csv, "\n"), lastLine(csv))
		}
	}
}

// lastLine returns the last line of an answer.
func lastLine(body string) string {
	all := strings.Split(strings.TrimSpace(body), "\n")
	return all[len(all)-1]
}

// plotted puts the parts of the answer to a plot together, as the page does: how many there are, and whether the last
// column of one comes again with the next, depends on how fast the bag is read. end is the last line.
func plotted(t *testing.T, body string) (columns map[int][][6]float64, bands map[int][]string, end string) {
	t.Helper()
	columns, bands = map[int][][6]float64{}, map[int][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
		part := decode[struct {
			Series  json.RawMessage // of the last line: one for each field
			From    int
			Columns [][6]float64
			Bands   []struct{ Text string }
		}](t, line)
		var i int
		if json.Unmarshal(part.Series, &i) != nil {
			continue
		}
		if part.Columns != nil {
			columns[i] = append(columns[i][:part.From], part.Columns...)
		}
		if part.Bands != nil {
			bands[i] = bands[i][:part.From]
			for _, b := range part.Bands {
				bands[i] = append(bands[i], b.Text)
			}
		}
	}
	return columns, bands, lastLine(body)
}

func TestPlot(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	parameters := []string{"from", "0", "to", "10", "columns", "100", "f", "/odom|pose.pose.position.x", "f", "/odom|child_frame_id", "f", "/odom|none"}
	columns, bands, end := plotted(t, ask(t, c, "plot", 200, parameters...))
	if n := len(columns[0]); n < 90 || n > 100 || len(bands[1]) != 1 || !strings.Contains(end, `"done":true`) || !strings.Contains(end, "none") {
		t.Errorf("%d columns, %d bands, %s", n, len(bands[1]), end)
	}
	if again, bandsAgain, endAgain := plotted(t, ask(t, c, "plot", 200, parameters...)); !reflect.DeepEqual(again, columns) || !reflect.DeepEqual(bandsAgain, bands) || endAgain != end {
		t.Errorf("the second answer differs: %v, %v, %s", again, bandsAgain, endAgain)
	}
	if csv := ask(t, c, "csv", 200, "from", "0", "to", "1", "f", "/odom|pose.pose.position.x"); !strings.HasPrefix(csv, "time,/odom pose.pose.position.x\n") || strings.Count(csv, "\n") < 10 {
		t.Errorf("CSV: %.300s", csv)
	}
	values := decode[[]struct{ Text, Error string }](t, ask(t, c, "values", 200, "at", "5", "f", "/odom|child_frame_id", "f", "/odom|none"))
	if len(values) != 2 || values[0].Text != "base_footprint" || values[1].Error == "" {
		t.Errorf("%+v", values)
	}
	ask(t, c, "plot", 400, "from", "0", "to", "10", "columns", "9999", "f", "/odom|x")
	ask(t, c, "plot", 400, "from", "10", "to", "0", "columns", "10", "f", "/odom|x")
	ask(t, c, "plot", 400, "from", "0", "to", "10", "columns", "10")
	ask(t, c, "plot", 404, "from", "0", "to", "10", "columns", "10", "f", "/none|x")
}

// TestStamps plots by the time of the header, whose difference is told.
func TestStamps(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	body := ask(t, c, "plot", 200, "from", "0", "to", "10", "columns", "100", "stamps", "1", "f", "/odom|pose.pose.position.x")
	if end := decode[struct{ Done bool }](t, lastLine(body)); !end.Done || strings.Count(body, "[") < 90 {
		t.Errorf("%.500s", body)
	}
}

func TestDensity(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	for _, exact := range []string{"", "1"} {
		d := decode[struct {
			Rows  map[string][]byte
			Exact bool
		}](t, ask(t, c, "density", 200, "from", "0", "to", "10", "bins", "50", "rows", "0-2", "exact", exact))
		if len(d.Rows) != 3 || d.Exact != (exact != "") {
			t.Errorf("exact %q: %+v", exact, d)
		}
	}
	for _, rows := range []string{"", "x", "5-2", "0-9999", "-1", "99"} {
		ask(t, c, "density", 400, "from", "0", "to", "10", "bins", "50", "rows", rows)
	}
}

// TestFindings: what gobag gaps finds, of each file, from the start of the first one.
func TestFindings(t *testing.T) {
	t.Parallel()
	var paths []string
	for part := range 2 {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.bag", part))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conns := make([]*rosbag.Connection, 2)
		for i, topic := range []string{"/imu", "/odom"} {
			if conns[i], err = w.AddConnection(topic, rosbag.Header{{Key: "type", Value: "a/A"}, {Key: "md5sum", Value: "x"}, {Key: "message_definition", Value: "int8 x\n"}}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 600 { // 60 s
			at := rosbag.Time{Sec: 1000 + 60*uint32(part)}.Add(time.Duration(n) * 100 * time.Millisecond)
			for i, c := range conns {
				if silent := i == 0 && n > 300 && n < 500; silent {
					continue
				}
				if err := w.Write(c, at, []byte{0}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	c := serve(t, paths...)
	type found struct {
		Topic, Kind, Text string
		From, To          float64
	}
	check := func(want []float64, parameters ...string) {
		t.Helper()
		all := decode[[]found](t, ask(t, c, "findings", 200, parameters...))
		if len(all) != len(want) {
			t.Fatalf("%v: %+v, want silences at %v", parameters, all, want)
		}
		for i, f := range all {
			if f.Topic != "/imu" || f.Kind != "silent" || f.Text != "silent for 20 s" || f.From != want[i] || f.To < f.From+20 || f.To > f.From+20.5 {
				t.Errorf("%v: %+v, want one of 20 s from %g on", parameters, f, want[i])
			}
		}
	}
	check([]float64{30, 90})
	check([]float64{30, 90}) // from what is kept
	check([]float64{30}, "bag", "1")
	ask(t, c, "findings", 404, "bag", "7")
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	type answer struct {
		Found *struct {
			Topic string
			At    float64
		}
		Note, Error string
		Done        bool
	}
	search := func(parameters ...string) answer {
		t.Helper()
		return decode[answer](t, lastLine(ask(t, c, "search", 200, parameters...)))
	}
	first := search("at", "0", "topic", "/odom", "q", "m.pose.pose.position.x > 0.5")
	if first.Found == nil || first.Found.Topic != "/odom" {
		t.Fatalf("%+v", first)
	}
	last := search("at", "10", "topic", "/odom", "backwards", "1", "q", "m.pose.pose.position.x > 0.5")
	if last.Found == nil || last.Found.At <= first.Found.At {
		t.Errorf("forwards %+v, backwards %+v", first.Found, last.Found)
	}
	if text := search("at", "0", "q", "BASE_LINK"); text.Found == nil {
		t.Errorf("a text: %+v", text)
	}
	if none := search("at", "0", "q", "no such text"); none.Found != nil || !none.Done {
		t.Errorf("no text: %+v", none)
	}
	if typo := search("at", "0", "topic", "/odom", "q", "m.poze.x > 1"); typo.Found != nil || !strings.Contains(typo.Note, "poze") {
		t.Errorf("a field that is not there: %+v", typo)
	}
	if none := search("at", "4e9", "backwards", "1", "q", "no such text"); none.Found != nil || !none.Done { // a century late
		t.Errorf("no text before a late time: %+v", none)
	}
	ask(t, c, "search", 400, "at", "0", "q", "m.x >")
	ask(t, c, "search", 400, "at", "0", "q", "")
}

// TestSteps goes through all messages of a topic, forwards and backwards by search.
func TestSteps(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	var there, back []string
	step := func(list *[]string, at string, id string, backwards string) (string, string, bool) {
		parameters := []string{"at", at, "id", id, "topic", "/odom", "q", "topic == '/odom'", "backwards", backwards}
		a := decode[struct {
			Found *struct {
				ID string
				At float64
			}
		}](t, lastLine(ask(t, c, "search", 200, parameters...)))
		if a.Found == nil {
			return "", "", false
		}
		*list = append(*list, a.Found.ID)
		return fmt.Sprint(a.Found.At), a.Found.ID, true
	}
	at, id, ok := "0", "", true
	for ok && len(there) < 10 {
		at, id, ok = step(&there, at, id, "")
	}
	for ok {
		at, id, ok = step(&back, at, id, "1")
	}
	var reversed bytes.Buffer
	for i := len(back) - 1; i >= 0; i-- {
		reversed.WriteString(back[i] + " ")
	}
	if want := strings.Join(there[:len(there)-1], " ") + " "; !strings.HasSuffix(reversed.String(), want) {
		t.Errorf("there %q, back %q", want, reversed.String())
	}
}

// TestFiles: what the panels load is served, and asks for nothing elsewhere.
func TestFiles(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	files, err := fs.ReadDir(view.Assets(), ".")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, f := range files {
		a := c.Get("/static/" + f.Name())
		if a.Status != 200 {
			t.Errorf("%s: status %d", f.Name(), a.Status)
		}
		if strings.HasSuffix(f.Name(), ".js") {
			total += strings.Count(a.Body, "\n")
		}
		for _, bad := range []string{"http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
			if strings.Contains(a.Body, bad) {
				t.Errorf("%s has %q", f.Name(), bad)
			}
		}
	}
	if total > 2500 {
		t.Errorf("%d lines of JavaScript, more than 2500", total)
	}
}
