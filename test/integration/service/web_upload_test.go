package service_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestUploadsAreShown: the page and the metrics tell what the store has got; a bag that comes
// leaves the focus of the keyboard where it is.
func TestUploadsAreShown(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	f := peers.NewFlood(g, "/t", 100_000)
	rec := g.Record("/t", "-O", "out", "--upload=file://"+t.TempDir(), "--http="+host)
	f.WaitSent(5)
	b := openBrowser(t, host)
	b.shows("#uploads", "0 uploaded")
	b.click("#split")
	b.shows("#uploads", "1 uploaded")
	_, _, text := ask(t, "GET", "http://"+host+"/metrics", "")
	if !strings.Contains(text, "\ngorecord_uploads_total 1\n") || !strings.Contains(text, "\ngorecord_uploads_waiting 0\n") {
		t.Errorf("the metrics say otherwise:\n%.2000s", text[max(strings.Index(text, "gorecord_upload"), 0):])
	}

	b.do(chromedp.Focus(chromedp.CSS("#bags a")))
	ask(t, "POST", "http://"+host+"/api/v1/split", "")
	b.shows("#bags-count", "2")
	b.shows("#bags", "out_1.bag")
	if focus := b.eval("document.activeElement.ariaLabel"); focus != "Download out.bag" {
		t.Errorf("a new bag has moved the focus to %q", focus)
	}
	b.verdict()
	rec.Stop()
}
