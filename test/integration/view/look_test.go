package view_test

import (
	"fmt"
	"regexp"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestLive looks at a recording and at a playback: a picture, a plot and the tree of the latest message.
func TestLive(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	hosts := map[string]string{}
	for _, program := range []string{"gorecord", "goplay"} {
		hosts[program] = "127.0.0.1:" + harness.FreePort(t)
	}
	rec := g.Start("gorecord", "-a", "-O", "out", "--http="+hosts["gorecord"])
	rec.Printed("Recording to")
	play := g.Start("goplay", "--loop", bags.Demo(t), "--http="+hosts["goplay"])
	play.Printed("web page")
	for program, host := range hosts {
		for name, width := range widths {
			p := open(t, "http://"+host+"/", width, 900)
			topic := func(name string) {
				t.Helper()
				find := fmt.Sprintf(`[...document.querySelectorAll(".topic .name.opens")].find((n) => n.title === %q)`, name)
				p.until(name+" can be looked at", find+" !== undefined")
				p.eval(find + ".click()")
			}
			topic("/odom")
			p.shows("#message-panel h2", "/odom")
			if p.eval(`document.querySelector("#plot-panel .line").innerText.trim()`) != "" {
				t.Error("there is something to do with a plot that is not there")
			}
			p.until("a field can be plotted", `document.querySelector("[aria-label='Plot pose.pose.position.x']") !== null`)
			p.eval(`document.querySelector("[aria-label='Plot pose.pose.position.x']").click()`)
			p.until("the plot has values", `document.querySelector(".legend b")?.textContent > ""`)
			p.shows("#picture-panel .hints .fact", "positions")
			topic("/camera/image/compressed")
			p.until("the picture is there", `document.querySelector(".shown canvas").width === 64`)
			p.shows(".hints", "64 × 48")
			if title := p.text("#picture-title"); !regexp.MustCompile(`^Picture at \d\d:\d\d:\d\d\.\d+$`).MatchString(title) {
				t.Errorf("the title is %q", title)
			}
			p.fits("live-" + program + "-" + name)
			p.leave()
		}
	}
	play.Signal(syscall.SIGINT)
	if code := play.Wait(); code != 0 && code != 3 { // 3: on a busy machine its queue of 100 messages is full at times
		t.Errorf("goplay: exit code %d", code)
	}
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 0 && code != 3 { // 3: what goplay's queue dropped is missing in the numbers of /imu/data
		t.Errorf("gorecord: exit code %d", code)
	}
	harness.Contains(t, rec.Out.String(), "lost: none") // no viewer costs the recording a message
}
