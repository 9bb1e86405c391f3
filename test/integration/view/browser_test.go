// Package view_test looks at bags with gobag view in Chromium, as a user does.
package view_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// serve runs gobag view until the test ends, and returns the address of the page.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	address, _ := start(t, args...)
	return address
}

// start is serve, which also returns the process.
func start(t *testing.T, args ...string) (address string, process *os.Process) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(harness.Bin(), "gobag"), append([]string{"view"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // the exit code is that of damage, if there is any
	})
	address, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address), cmd.Process
}

// page is a page in Chromium. What it asks of anybody else, and what it complains of, fails the test.
type page struct {
	t    *testing.T
	ctx  context.Context
	host string

	mu         sync.Mutex
	complaints []string
	refused    bool // answers that refuse something are expected

	trace  []jsonv2.Value
	traced chan struct{} // closed when trace is whole
}

// refuses says that the page will ask for what is refused.
func (p *page) refuses() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = true
}

// open opens a page.
func open(t *testing.T, address string, width, height int64) *page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(harness.NeedChromium(t)), chromedp.NoSandbox)
	ctx, cancel := context.WithTimeout(context.Background(), 3*harness.Timeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx}
	p.visit(address)
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.complaints) > 0 {
			t.Errorf("the browser complains: %q", p.complaints)
		}
	})
	return p
}

// visit says which address the page may ask.
func (p *page) visit(address string) {
	p.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host = u.Host
}

func call[P, R any](p *page, c cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, c, params); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *tracing.EventDataCollected:
		p.trace = append(p.trace, e.Value...)
	case *tracing.EventTracingComplete:
		close(p.traced)
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != p.host && u.Scheme != "about" {
			p.complaints = append(p.complaints, "asks elsewhere: "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.URL, " ", e.ExceptionDetails.LineNumber))
	case *runtime.EventConsoleAPICalled:
		p.complaints = append(p.complaints, fmt.Sprintf("console: %s", e.Args[0].Value))
	case *log.EventEntryAdded:
		// A row asks for its small picture when it is seen, and viewbag has pictures that are refused.
		if e.Entry.Source == "network" && (p.refused || strings.Contains(e.Entry.URL, "&small=1")) {
			return
		}
		p.complaints = append(p.complaints, e.Entry.Text+" "+e.Entry.URL)
	}
}

// leave leaves the page, before its program ends.
func (p *page) leave() {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate("about:blank")); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns what an expression in the page is, as a text.
func (p *page) eval(expression string) string {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return fmt.Sprint(v)
}

// until waits until an expression in the page is true.
func (p *page) until(what, expression string) {
	p.t.Helper()
	harness.Eventually(p.t, what, func() bool { return p.eval(expression) == "true" })
}

// text returns that of an element.
func (p *page) text(selector string) string {
	p.t.Helper()
	return p.eval(fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector))
}

// shows waits until an element has a text.
func (p *page) shows(selector, text string) {
	p.t.Helper()
	quoted, _ := json.Marshal(text) // a string can be encoded
	p.until(selector+" shows "+text, fmt.Sprintf("(document.querySelector(%q)?.textContent ?? '').includes(%s)", selector, quoted))
}

// choose chooses a topic, by its row.
func (p *page) choose(topic string) {
	p.t.Helper()
	found, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(async () => {
		const rows = document.querySelector("#rows");
		for (const end = performance.now() + 20000; performance.now() < end; rows.scrollTop += rows.clientHeight / 2) {
			await new Promise((done) => requestAnimationFrame(done)); // only rows that are seen are in the page
			const row = [...document.querySelectorAll(".row")].find((r) => r.firstChild.textContent === %q);
			if (rows.scrollTop + rows.clientHeight >= rows.scrollHeight - 1 && !row) rows.scrollTop = -rows.clientHeight;
			if (!row) continue;
			row.scrollIntoView({ block: "nearest" });
			const box = row.getBoundingClientRect();
			for (const type of ["pointerdown", "pointerup", "click"]) {
				row.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, clientX: box.left + 30, clientY: box.top + 8 }));
			}
			return true;
		}
		return false;
	})()`, topic), chromedp.EvalAwaitPromise))
	if err != nil || !found {
		p.t.Fatalf("there is no row of %s: %v", topic, err)
	}
}

// key presses a key on the page.
func (p *page) key(key string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: %q, bubbles: true }))`, key))
}

// fits checks that the page is not wider than its window, and that all that can be operated has a name. With
// GOROSBAG_SCREENSHOTS it also writes a picture into that directory.
func (p *page) fits(name string) {
	p.t.Helper()
	if overflow := p.eval("document.documentElement.scrollWidth - innerWidth"); overflow != "0" {
		p.t.Errorf("%s: the page is %s pixels wider than the window", name, overflow)
	}
	if nameless := p.eval(`[...document.querySelectorAll("button, input, select, a, canvas[role]")].filter((e) => e.checkVisibility() &&
		!e.textContent.trim() && !e.getAttribute("aria-label") && !e.labels?.length).map((e) => e.outerHTML).join()`); nameless != "" {
		p.t.Errorf("%s: a screen reader has no name for %s", name, nameless)
	}
	dir := os.Getenv("GOROSBAG_SCREENSHOTS")
	if dir == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		p.eval("window.painted = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = true; })); 1")
		p.until("the colors are drawn", "window.painted")
		png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), png, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}
