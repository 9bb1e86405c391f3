package service_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// ask sends a request to a program and returns the answer.
func ask(t *testing.T, method, address, body string, headers ...string) (status int, header http.Header, text string) {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// TestRecorderHTTP: the verbs do what the services do, bags are handed out whole and in
// parts, and the metrics count what is in the bags.
func TestRecorderHTTP(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100_000)
	host := "http://127.0.0.1:" + harness.FreePort(t)
	rec := g.Record("/t", "-O", "out", "--overflow=block", "--http="+strings.TrimPrefix(host, "http://"))
	f.WaitSent(20)
	if code := g.Start("gorecord", "healthcheck", "readyz", "--http="+strings.TrimPrefix(host, "http://")).Wait(); code != 0 {
		t.Errorf("healthcheck: exit code %d", code)
	}
	const stopped = `{"message":"already stopped"}`
	steps := []struct {
		verb, body string
		status     int
		want       string
	}{
		{"pause", "", 200, `{"message":"paused recording to out.bag"}`},
		{"pause", "", 200, `{"message":"already paused"}`},
		{"resume", "", 200, `{"message":"recording to out.bag"}`},
		{"split", "", 200, `{"message":"closed out.bag, recording to out_1.bag","file":"out.bag"}`},
		{"pin", `{"seconds":3600}`, 200, `{"message":"bags of the last 1h0m0s are protected from deletion: out.bag out_1.bag","files":["out.bag","out_1.bag"]}`},
		{"pin", `{"last":3600}`, 400, "unknown field"},
		{"pin", `{"seconds":-1}`, 400, "seconds must be 0 or positive"},
		{"snapshot", "", 409, "no snapshots are kept ready"},
		{"stop", "", 200, `{"message":"closed out_1.bag","file":"out_1.bag"}`},
		{"stop", "", 200, stopped},
		{"split", "", 409, "stopped: there is no bag"},
		{"pause", "", 409, "stopped: there is no bag"},
	}
	for _, s := range steps {
		if s.status == 200 && s.want != stopped && (s.verb == "split" || s.verb == "stop") { // each bag has something in it
			before := recordedOf(t, host, "/t")
			g.Eventually("messages of the bag", func() bool { return recordedOf(t, host, "/t") > before })
		}
		if status, _, text := ask(t, "POST", host+"/api/v1/"+s.verb, s.body); status != s.status || !strings.Contains(text, s.want) {
			t.Errorf("%s %s: %d %s, want %d %s", s.verb, s.body, status, text, s.status, s.want)
		}
	}
	if status, _, text := ask(t, "GET", host+"/readyz", ""); status != 503 || !strings.Contains(text, "there is no bag: the recording is stopped") {
		t.Errorf("while stopped: %d %s", status, text)
	}
	if status, _, text := ask(t, "POST", host+"/api/v1/start", ""); status != 200 || text != `{"message":"recording to out_2.bag","file":"out_2.bag"}`+"\n" {
		t.Errorf("start: %d %s", status, text)
	}
	checkBagsOver(g, host)
	checkMetrics(g, host)

	// Those who watch, and those who take their time with a bag, do not hold up the end.
	events, err := http.Get(host + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	if line, err := bufio.NewReader(events.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		t.Errorf("event %q, %v", line, err)
	}
	stalls, began := g.Stalls(rec), time.Now()
	rec.Stop()
	if took, still := time.Since(began), stalls(); took > 4*time.Second+still {
		t.Errorf("the end took %v, of which the machine stood still for %v", took, still)
	}
	g.Closed("out_2.bag")
}

// recordedOf returns how many messages of a topic are recorded.
func recordedOf(t *testing.T, host, topic string) int {
	t.Helper()
	state := webState[recordState](t, strings.TrimPrefix(host, "http://"))
	return state.messages(topic)
}

// checkBags compares what is handed out with the files, of which there are two.
func checkBagsOver(g *harness.Graph, host string) {
	g.T.Helper()
	_, _, text := ask(g.T, "GET", host+"/api/v1/bags", "")
	var bags []struct {
		ID       int    `json:"id"`
		Name     string `json:"name"`
		Bytes    int    `json:"bytes"`
		Messages int    `json:"messages"`
		Pinned   bool   `json:"pinned"`
	}
	if err := json.Unmarshal([]byte(text), &bags); err != nil || len(bags) != 2 {
		g.T.Fatalf("%v: %s", err, text)
	}
	for _, b := range bags {
		want, err := os.ReadFile(filepath.Join(g.Dir, b.Name))
		if err != nil {
			g.T.Fatal(err)
		}
		at := fmt.Sprintf("%s/api/v1/bags/%d", host, b.ID)
		status, header, got := ask(g.T, "GET", at+"/file", "")
		if status != 200 || got != string(want) || b.Bytes != len(want) || !b.Pinned || header.Get("Content-Disposition") != "attachment; filename="+b.Name {
			g.T.Errorf("%+v: %d, %d bytes of %d, %v", b, status, len(got), len(want), header)
		}
		status, header, got = ask(g.T, "GET", at+"/file", "", "Range: bytes=13-112", "If-Range: "+header.Get("ETag"))
		if status != 206 || got != string(want[13:113]) || header.Get("Content-Range") != fmt.Sprintf("bytes 13-112/%d", len(want)) {
			g.T.Errorf("a part: %d, %d bytes, %v", status, len(got), header)
		}
		_, _, text := ask(g.T, "GET", at, "")
		var info struct {
			Path     string `json:"path"`
			Messages int    `json:"messages"`
		}
		if err := json.Unmarshal([]byte(text), &info); err != nil || info.Path != b.Name || info.Messages != b.Messages || b.Messages == 0 {
			g.T.Errorf("%+v: %v: %s", b, err, text)
		}
	}
	for _, path := range []string{"2", "-1", "x", "0x0", "..%2f..%2fetc%2fpasswd", "out.bag", "%2e%2e", "0%00"} {
		for _, tail := range []string{"", "/file"} {
			if status, _, text := ask(g.T, "GET", host+"/api/v1/bags/"+path+tail, ""); status < 400 || strings.Contains(text, g.Dir) {
				g.T.Errorf("bag %s%s: %d %s", path, tail, status, text)
			}
		}
	}
}

// checkMetrics compares the metrics with the state.
func checkMetrics(g *harness.Graph, host string) {
	g.T.Helper()
	_, header, text := ask(g.T, "GET", host+"/metrics", "")
	if !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
		g.T.Errorf("type %v", header)
	}
	value := func(name string) float64 {
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			g.T.Errorf("no %s", name)
			return 0
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			g.T.Error(err)
		}
		return v
	}
	for name, most := range map[string]float64{
		`gorecord_master_up`: 1, `gorecord_recording`: 1, `gorecord_publishers{topic="/t"}`: 1, `gorecord_messages_total{topic="/t"}`: 1e6, `gorecord_bytes_total{topic="/t"}`: 1e9,
		`gorecord_write_seconds_count`: 1e6, `gorecord_write_seconds_sum`: 100, `gorecord_fsync_seconds_count`: 1e6, `gorecord_split_stall_seconds_bucket{le="+Inf"}`: 1,
		`gorecord_disk_free_bytes`: 1e18, `gorecord_bags_finished_total`: 2, `gorecord_buffer_limit_bytes`: 256 << 20,
	} {
		if v := value(name); v <= 0 || v > most {
			g.T.Errorf("%s is %v", name, v)
		}
	}
	if v := value(`gorecord_split_stall_seconds_count`); v != 1 {
		g.T.Errorf("%v splits", v)
	}
}

// TestHealthWithoutMaster: a master that is away makes a recorder unready, but not dead.
func TestHealthWithoutMaster(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100_000)
	port := harness.FreePort(t)
	rec := g.Record("/t", "-O", "out", "--http="+port)
	f.WaitSent(20)
	check := func(args ...string) int {
		return g.Start("gorecord", append([]string{"healthcheck", "--http=" + port}, args...)...).Wait()
	}
	if live, ready, health := check(), check("readyz"), check("healthz"); live != 0 || ready != 0 || health != 0 {
		t.Errorf("with a master: %d, %d, %d", live, ready, health)
	}
	g.KillMaster()
	rec.Printed("Failed to contact master")
	if live, ready, health := check(), check("readyz"), check("healthz"); live != 0 || ready != 1 || health != 1 {
		t.Errorf("without a master: %d, %d, %d", live, ready, health)
	}
	_, _, text := ask(t, "GET", "http://127.0.0.1:"+port+"/healthz", "")
	harness.Contains(t, text, `"status":"degraded"`, "the master does not answer", `"publishers":1`)
	g.StartMaster()
	g.Eventually("the master is there again", func() bool { return check("healthz") == 0 })
	if code := check("nonsense"); code != 1 {
		t.Errorf("nonsense: exit code %d", code)
	}
}

// TestHealthcheckIsATopic: the word has a meaning only in the first place.
func TestHealthcheckIsATopic(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for _, args := range [][]string{{"/healthcheck", "-O", "a"}, {"--output-name=b", "--", "healthcheck"}, {"-O", "c", "healthcheck"}, {"--", "healthcheck"}} {
		rec := g.Record(args...)
		rec.Printed(`healthcheck"}`) // it is subscribed to
		rec.Stop()
	}
}

// TestUnguardedAddress: what others could reach is refused at the start, with what to do
// about it.
func TestUnguardedAddress(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for _, args := range [][]string{{"gorecord", "-a", "--http=0.0.0.0:0"}, {"goplay", bags.Demo(t), "--http=:0"}, {"gorecord", "-a", "--http=0.0.0.0:0", "--http-token=short"}} {
		p := g.Start(args[0], args[1:]...)
		if code := p.Wait(); code != 1 || !strings.Contains(p.Out.String(), "token") {
			t.Errorf("%v: exit code %d: %s", args, code, p.Out.String())
		}
	}
	if bags := bags.Names(g, ""); len(bags) > 0 {
		t.Errorf("files: %q", bags)
	}
}
