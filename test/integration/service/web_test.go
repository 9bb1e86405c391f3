package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// recording is what the tests ask of the state of gorecord.
type recording struct {
	State    string `json:"state"`
	Finished int    `json:"finished"`
	Topics   []struct {
		Topic    string `json:"topic"`
		Messages int    `json:"messages"`
		Passed   int    `json:"passed"`
	} `json:"topics"`
}

func (r recording) passed(topic string) int {
	for _, t := range r.Topics {
		if t.Topic == topic {
			return t.Passed
		}
	}
	return 0
}

// TestRecorderPage looks at a recording in Chromium: its numbers move, and what each
// button does is in the bags.
func TestRecorderPage(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	g.Start("goplay", "--loop", "--quiet", bags.Demo(t))
	host := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Start("gorecord", "-a", "-O", "out", "--snapshot-beside", "--http="+host)
	rec.Printed("/imu/data")
	b := openBrowser(t, host)
	b.shows("#state", "Recording")
	number := func() int {
		n, _ := strconv.Atoi(strings.ReplaceAll(b.cell("/imu/data", 4), ",", ""))
		return n
	}
	harness.Eventually(t, "the table has messages", func() bool { return number() > 0 })
	first := number()
	harness.Eventually(t, "the numbers move", func() bool { return number() > first+100 && b.cell("/imu/data", 2) != "0.0 Hz" })
	harness.Eventually(t, "the sparklines move", func() bool { return b.eval(`document.querySelector(".spark polyline").points.length > 2`) == "true" })

	// The keyboard finds the first button, and a pause is a gap in the bag.
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "))
	if focused := b.eval("document.activeElement.id"); focused != "pause" {
		t.Errorf("the first that the keyboard finds is %q", focused)
	}
	b.shows("#state", "Paused")
	harness.Eventually(t, "messages pass", func() bool { return webState[recording](t, host).passed("/imu/data") > 60 })
	b.click("#pause")
	b.shows("#state", "Recording")

	b.click("#snapshot")
	b.shows("#said", "Wrote out_snapshot")
	b.click("#split")
	b.shows("#said", "Closed out.bag")
	g.Closed("out.bag")
	b.shows("#bags", "out.bag")
	b.click("#pin")
	b.shows("#said", "Will not be deleted: out.bag, out_1.bag")
	b.shows("#bags", "kept")
	b.answers("")
	b.click("#stop")
	if asked := b.answers("Close the bag and stop recording?"); asked != "Close the bag and stop recording? Nothing is recorded until somebody presses Start." || webState[recording](t, host).State != "recording" {
		t.Errorf("a tap on Stop asks %q", asked)
	}
	b.click("#stop")
	b.shows("#state", "Stopped: nothing is recorded")
	g.Closed("out_1.bag")
	b.click("#stop") // starts
	b.shows("#state", "Recording")
	b.shows("#file", "out_2.bag")

	b.press("#bags li:last-child summary")
	b.shows("#bags li:last-child .info", "/imu/data")
	b.download(g)
	harness.Eventually(t, "the table moves again", func() bool { return strings.HasPrefix(b.cell("/imu/data", 2), "1") })
	b.fits("gorecord")
	b.verdict()
	rec.Stop()

	if gap := bags.LongestGap(bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/imu/data"]); gap < 500*time.Millisecond {
		t.Errorf("the pause is a gap of %v", gap)
	}
	names := bags.Names(g, "out")
	if len(names) != 4 {
		t.Errorf("bags: %q", names)
	}
	for _, name := range names {
		if topics := bags.Read(t, filepath.Join(g.Dir, "out"+name)); topics["/imu/data"] == nil || topics["/tf_static"] == nil {
			t.Errorf("out%s holds %v", name, topics)
		}
	}
}

// TestRecorderPageOpensLate: a page that is opened late shows what came before, and a buffer that
// is full of what a snapshot would hold does not look like trouble.
func TestRecorderPageOpensLate(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	peers.NewFlood(g, "/t", 100_000)
	host := "127.0.0.1:" + harness.FreePort(t)
	g.Start("gorecord", "/t", "-O", "out", "--snapshot", "-b", "2", "--http="+host).Printed("Subscribing to")
	const before = 8
	harness.Eventually(t, "the server has a curve and a full ring", func() bool {
		s := webState[struct {
			Most      int64 `json:"buffer_most"`
			Snapshots struct {
				Bytes int64 `json:"bytes"`
			} `json:"snapshots"`
		}](t, host)
		return len(lastMinute(t, host)["/t"]) >= before && 2*s.Snapshots.Bytes > s.Most
	})
	b := openBrowser(t, host)
	// A page that knew only what it has seen would have fewer points than seconds.
	harness.Eventually(t, "the curve begins before the page", func() bool {
		return b.eval(fmt.Sprintf(`(document.querySelector(".spark polyline")?.points.length ?? 0) >= Math.min(performance.now() / 1000 + %d, 55)`, before-5)) == "true"
	})
	b.shows("#held", "held for a snapshot")
	if b.eval(`document.querySelector("#meter").classList.contains("full")`) != "false" || b.eval(`Number(document.querySelector("#meter").getAttribute("aria-valuenow")) < 50`) != "true" {
		t.Errorf("the buffer looks full: %s", b.eval(`document.querySelector("#meter").outerHTML`))
	}
}

// lastMinute returns the messages per second of each topic that the server keeps.
func lastMinute(t *testing.T, host string) map[string][]float64 {
	t.Helper()
	resp, err := http.Get("http://" + host + "/api/v1/last_minute")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var minute map[string][]float64
	if err := json.NewDecoder(resp.Body).Decode(&minute); err != nil {
		t.Fatal(err)
	}
	return minute
}

// download compares what the links lead to with the files.
func (b *browser) download(g *harness.Graph) {
	b.t.Helper()
	links := strings.Split(b.eval(`[...document.querySelectorAll("#bags a")].map((a) => a.href + " " + a.getAttribute("aria-label")).join("\n")`), "\n")
	if len(links) != 3 {
		b.t.Errorf("links: %q", links)
	}
	for _, link := range links {
		address, label, _ := strings.Cut(link, " ")
		r, err := http.Get(address)
		if err != nil {
			b.t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		want, err2 := os.ReadFile(filepath.Join(g.Dir, strings.TrimPrefix(label, "Download ")))
		if err != nil || err2 != nil || !slices.Equal(got, want) {
			b.t.Errorf("%s: %d bytes of %d, %v, %v", link, len(got), len(want), err, err2)
		}
	}
}
