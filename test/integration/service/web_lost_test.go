package service_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

// TestLostConnection: a page says since when nobody answers, and goes on with the program
// that answers next: it forgets what the other one recorded. What was stopped from the
// page has ended, which is no fault.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	peers.NewFlood(g, "/first", 100_000)
	rec := g.Start("gorecord", "/first", "-O", "one", "--http="+host)
	b := openBrowser(t, host)
	b.shows("#topics", "/first")
	b.answers("Close the bag")
	b.click("#stop")
	b.shows("#state", "Stopped")
	b.fits("gorecord-stopped")
	b.click("#stop")
	b.shows("#state", "Recording")
	b.verdict() // from here on the browser may complain
	rec.Signal(syscall.SIGKILL)
	rec.Wait()
	b.shows("#gone", "No answer from gorecord since")
	b.shows("#link", "no answer")
	b.fits("gorecord-lost")
	b.click("#pause")
	b.shows("#said", "No answer")

	g.Start("gorecord", "-e", "/second.*", "-O", "two", "--http="+host)
	b.shows("#file", "two.bag")
	b.shows("#topics-none", "No topics yet")
	harness.Eventually(t, "all is well again", func() bool {
		return b.eval(`[document.getElementById("gone").hidden, document.getElementById("topics").hidden, document.querySelectorAll("#topics tbody tr").length].join()`) == "true,true,0"
	})
	b.fits("gorecord-empty")
}

// TestEndedPlayback: what was stopped from the page has ended, which is no fault.
func TestEndedPlayback(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	play := g.Start("goplay", "--loop", "--quiet", bags.Demo(t), "--http="+host)
	b := openBrowser(t, host)
	b.shows("#state", "Playing")
	b.verdict()
	b.press("#stop")
	play.Wait()
	b.shows("#gone", "goplay has ended")
	b.fits("goplay-ended")
}

// TestLoginAfterRestart: a program that was started anew does not know who had logged in,
// and the page that is still open asks for the token.
func TestLoginAfterRestart(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	const token = "0123456789abcdef"
	args := []string{"-a", "--output-prefix=out", "--http=" + host, "--http-token=" + token}
	rec := g.Start("gorecord", args...)
	b := openBrowser(t, host)
	login := func() {
		b.shows("label", "Token")
		b.do(chromedp.SendKeys(chromedp.CSS("#token"), token+kb.Enter))
		b.shows("#state", "Recording")
	}
	login()
	b.verdict()
	rec.Stop()
	// The link shows "ended" if the page heard of the end in time, and "no answer" otherwise.
	b.shows("#gone", "What is shown is how things were then")
	rec = g.Start("gorecord", args...)
	login()
	if out := rec.Out.String(); strings.Contains(out, token) {
		t.Errorf("the token is in the log:\n%s", out)
	}
}

// TestLossIsShown: under real loss, a flood that bzip2 cannot follow, the metrics tell by
// cause what the bag does not hold, the histograms add up, and page and probe say so.
func TestLossIsShown(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Record("/camera", "-O", "out", "--bz2", "-b", "4", "--http="+host)
	camera := peers.Offer(t.Context(), g, "/camera")
	stop, flooded := make(chan struct{}), make(chan error, 1)
	sent := 0
	go func() {
		flooded <- camera.Serve(t.Context(), 100<<10, func(l *load.Link) (err error) {
			sent, err = l.Flood(1<<30, stop)
			return err
		})
	}()
	rec.Printed("messages dropped")
	b := openBrowser(t, host)
	b.shows("#lostsub", "queue full")
	b.shows("#lostsub", "last minute")
	b.fits("gorecord-loss")
	b.verdict()
	close(stop)
	if err := <-flooded; err != nil {
		t.Fatal(err)
	}
	var text string
	value := func(name string) float64 {
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			return math.NaN()
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Error(err)
		}
		return v
	}
	last := ""
	harness.Eventually(t, "the metrics account for all that was sent", func() bool {
		_, _, text = ask(t, "GET", "http://"+host+"/metrics", "")
		got, lost := value(`gorecord_messages_total{topic="/camera"}`), value(`gorecord_messages_dropped_total{cause="queue_full",topic="/camera"}`)
		last = fmt.Sprintf("%v recorded and %v dropped of %d", got, lost, sent)
		return got > 0 && lost > 0 && got+lost == float64(sent)
	})
	t.Log(last)
	if n := strings.Count(text, "gorecord_messages_dropped_total{"); n != 1 {
		t.Errorf("%d causes", n)
	}
	for _, name := range []string{"gorecord_write_seconds", "gorecord_fsync_seconds", "gorecord_split_stall_seconds"} {
		before, buckets := 0.0, regexp.MustCompile(name+`_bucket\{le="([^"]+)"\} (\S+)`).FindAllStringSubmatch(text, -1)
		for _, m := range buckets {
			v, err := strconv.ParseFloat(m[2], 64)
			if err != nil || v < before {
				t.Errorf("%s: %v after %v", m[0], v, before)
			}
			before = v
		}
		if count := value(name + "_count"); len(buckets) < 5 || before != count {
			t.Errorf("%s: %v of %v in %d classes", name, before, count, len(buckets))
		}
	}
	r, err := http.Get("http://" + host + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "messages were lost within the last minute") {
		t.Errorf("%d %s, %v", r.StatusCode, body, err)
	}
	lost := int(value(`gorecord_messages_dropped_total{cause="queue_full",topic="/camera"}`))
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 3 || !strings.Contains(rec.Out.String(), fmt.Sprintf("lost: %d queue_full\n", lost)) {
		t.Errorf("exit code %d, %d lost:\n%s", code, lost, rec.Out.String())
	}
}
