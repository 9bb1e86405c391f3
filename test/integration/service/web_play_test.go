package service_test

import (
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// playback is what the tests ask of the state of goplay.
type playback struct {
	Phase     string    `json:"phase"`
	Paused    bool      `json:"paused"`
	Rate      float64   `json:"rate"`
	Position  float64   `json:"position"`
	Messages  int       `json:"messages"`
	Loop      bool      `json:"loop"`
	LoopFrom  float64   `json:"loop_from"`
	LoopTo    float64   `json:"loop_to"`
	Bookmarks []float64 `json:"bookmarks"`
	Seeks     int       `json:"seeks"`
	Topics    []struct {
		Topic string `json:"topic"`
		On    bool   `json:"on"`
	} `json:"topics"`
}

// TestPlayerPage steers a playback in Chromium: by mouse and by keyboard, and what it
// does is what subscribers get.
func TestPlayerPage(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("-a", "-O", "out")
	host := "127.0.0.1:" + harness.FreePort(t)
	play := g.Start("goplay", "--pause", "--wait-for-subscribers", "--overflow", "block", bags.Demo(t), "--http="+host)
	play.Printed("web page")
	b := openBrowser(t, host)
	b.shows("#state", "Paused")
	is := func(what string, ok func(p playback) bool) {
		t.Helper()
		last := playback{}
		defer func() {
			if t.Failed() {
				t.Logf("%s: %+v", what, last)
			}
		}()
		harness.Eventually(t, what, func() bool {
			last = webState[playback](t, host)
			return ok(last)
		})
	}
	at := func(position float64) func(playback) bool {
		return func(p playback) bool { return math.Abs(p.Position-position) < 0.05 }
	}
	harness.Eventually(t, "the density is drawn", func() bool {
		return len(b.eval(`document.getElementById("density-all").getAttribute("d") ?? ""`)) > 100
	})

	length := 9.992
	b.click("#timeline") // in the middle
	is("a click seeks", at(length/2))
	b.do(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
	is("an arrow key with shift moves by more than the bag has", at(length))
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	is("an arrow key", at(length-5))
	b.do(chromedp.KeyEvent(kb.PageUp))
	is("the page-up key goes back, as in the terminal", at(0))
	b.do(chromedp.KeyEvent(kb.PageDown))
	is("the page-down key", at(length))
	b.do(chromedp.KeyEvent(kb.ArrowUp))
	is("the up key is faster", func(p playback) bool { return p.Rate == 2 })
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	is("the down key is slower", func(p playback) bool { return p.Rate == 1 })
	b.do(chromedp.KeyEvent("5"))
	is("a digit", at(length/2))
	b.do(chromedp.KeyEvent("l"))
	is("loop", func(p playback) bool { return p.Loop })
	b.do(chromedp.KeyEvent("l"))
	is("no loop", func(p playback) bool { return !p.Loop })
	b.do(chromedp.KeyEvent(kb.End))
	is("the end key", at(length))
	b.do(chromedp.KeyEvent(kb.Home))
	is("the home key", at(0))
	b.drag("#timeline", 0.1, 0.2)
	is("a drag seeks once", func(p playback) bool { return at(0.2*length)(p) && p.Seeks == 9 })

	b.click("#step")
	is("a step", func(p playback) bool { return p.Position > 0.2*length+0.001 && p.Paused })
	stepped := webState[playback](t, host)
	b.click("#burst")
	is("ten steps", func(p playback) bool { return p.Messages == stepped.Messages+10 && p.Paused })
	here := webState[playback](t, host).Position
	b.click("#back")
	is("a step back", func(p playback) bool { return p.Position < here && p.Position > stepped.Position })

	b.click("#from")
	is("a mark", func(p playback) bool { return math.Abs(p.LoopFrom-p.Position) < 0.05 && p.LoopTo > 9 })
	b.drag("#timeline", 0.2, 0.5)
	is("a drag", at(0.5*length))
	b.click("#to")
	is("the other mark", func(p playback) bool { return math.Abs(p.LoopTo-0.5*length) < 0.05 && p.LoopFrom > 2 })
	b.click("#loop")
	is("the loop", func(p playback) bool { return p.Loop })
	b.click("#bookmark")
	is("a bookmark", func(p playback) bool { return len(p.Bookmarks) == 1 && math.Abs(p.Bookmarks[0]-p.Position) < 0.05 })
	b.click(`#rates button[value="2"]`)
	is("the rate", func(p playback) bool { return p.Rate == 2 })
	b.click(`input[aria-label="Publish /imu/data"]`)
	is("a topic is off", func(p playback) bool {
		for _, t := range p.Topics {
			if t.Topic == "/imu/data" {
				return !t.On
			}
		}
		return false
	})
	b.drag("#timeline", 0.3, 0.25)
	b.click("#toggle")
	b.shows("#state", "Playing")
	number := b.text("#messages")
	harness.Eventually(t, "live numbers move", func() bool { return b.text("#messages") != number })
	harness.Eventually(t, "the loop ends where it should", func() bool { return webState[playback](t, host).Position < 0.5*length+0.1 })
	b.fits("goplay")
	b.do(chromedp.Reload())
	b.shows("#state", "Playing")
	b.do(chromedp.KeyEvent(" "))
	b.shows("#state", "Paused")
	b.press("#loop")
	b.press("#clear")
	is("no marks", func(p playback) bool { return !p.Loop && p.LoopFrom == 0 && p.LoopTo > 9 })
	b.verdict()
	b.click("#stop")
	if code := play.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	rec.Stop()
	topics := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
	if imu, odom := topics["/imu/data"], topics["/odom"]; odom == nil || len(odom.Messages) < 20 || imu != nil && len(imu.Messages) > 20 {
		t.Errorf("the topic that was off was published: %v, %v", imu, odom)
	}
}

// drag moves the mouse over an element with its button down, between shares of its width.
func (b *browser) drag(selector string, from, to float64) {
	b.t.Helper()
	var left, top, width, height float64
	text := b.eval(fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.left, r.top, r.width, r.height].join(" ") })()`, selector))
	if _, err := fmt.Sscan(text, &left, &top, &width, &height); err != nil {
		b.t.Fatal(err)
	}
	y := top + height/2
	b.do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, left+from*width, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, left+(from+to)/2*width, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, left+to*width, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, left+to*width, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
	)
}

// TestExtremeCommands: what would make a player spin or stand still for good is refused, and a
// loop around a single message takes at least 10 ms a pass.
func TestExtremeCommands(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	address := "127.0.0.1:" + harness.FreePort(t)
	host := "http://" + address
	play := g.Start("goplay", "--pause", bags.Demo(t), "--http="+address)
	play.Printed("web page")
	g.Eventually("the bag is open", func() bool { return webState[playback](t, address).Paused })
	post := func(command, body string, want int) {
		t.Helper()
		if status, _, text := ask(t, "POST", host+"/api/v1/"+command, body); status != want {
			t.Errorf("%s %s: %d %s, want %d", command, body, status, text, want)
		}
	}
	for _, rate := range []string{"1e-308", "0", "-1", "1e308"} {
		post("rate", `{"rate":`+rate+`}`, 400)
	}
	post("loop_range", `{"from":2,"to":2}`, 400)
	post("loop_range", `{"from":3,"to":2}`, 400)

	post("seek", `{"to":2}`, 200)
	post("step", "", 200)
	at := webState[playback](t, address)
	const wide, pass = 1e-9, 10 * time.Millisecond
	post("loop_range", fmt.Sprintf(`{"from":%.9f,"to":%.9f}`, at.Position, at.Position+wide), 200)
	post("loop", `{"on":true}`, 200)
	start := time.Now()
	post("play", "", 200)
	var published int
	g.Eventually("it loops for a second", func() bool {
		published = webState[playback](t, address).Messages - at.Messages
		return published > 5 && time.Since(start) > time.Second
	})
	took := time.Since(start)
	t.Logf("%d messages in %v", published, took)
	if most := 10 + 2*int(took/pass); published > most {
		t.Errorf("%d messages in %v, at most %d are expected", published, took, most)
	}
	post("stop", "", 200)
	play.Ended(0)
}

// TestLoginPage: where a token is needed a browser is asked for it, and then let in.
func TestLoginPage(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	const token = "correct horse battery staple"
	secret := filepath.Join(g.Dir, "token")
	if err := os.WriteFile(secret, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port := harness.FreePort(t)
	g.Start("gorecord", "-a", "-O", "out", "--http=0.0.0.0:"+port, "--http-token-file="+secret).Printed("web page")
	host := net.JoinHostPort("127.0.0.1", port)
	b := openBrowser(t, host)
	b.shows("label", "Token")
	b.fits("login")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), token+kb.Enter))
	b.shows("#state", "Recording")
	b.click("#pause")
	b.shows("#state", "Paused")
	if cookie := b.eval("document.cookie"); cookie != "" {
		t.Errorf("a script can read the cookie: %s", cookie)
	}
	if text := b.eval("location.href"); strings.Contains(text, "token") {
		t.Errorf("the token is in the address: %s", text)
	}
}
