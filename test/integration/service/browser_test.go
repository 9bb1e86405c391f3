package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// browser is a page of Chromium that looks at one of our programs. What it asks of
// anybody else, and what it complains of, fails the test.
type browser struct {
	t    *testing.T
	ctx  context.Context
	host string // host:port of the program

	mu         sync.Mutex
	elsewhere  []string // addresses that were asked for
	complaints []string
	judged     bool
}

// The window is so high that nothing scrolls: a click aims at where things were a moment
// ago.
const windowWidth, windowHeight = 1280, 2000

// openBrowser opens a page at host.
func openBrowser(t *testing.T, host string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(harness.NeedChromium(t)), chromedp.NoSandbox, chromedp.WindowSize(windowWidth, windowHeight))
	ctx, cancel := context.WithTimeout(context.Background(), 3*harness.Timeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, host: host}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, log.Enable, cdp.Empty{})
	b.do(chromedp.EmulateViewport(windowWidth, windowHeight), chromedp.Navigate("http://"+host+"/"))
	t.Cleanup(b.verdict)
	return b
}

// listen hears what the page asks for and complains of.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != b.host && u.Scheme != "data" {
			b.elsewhere = append(b.elsewhere, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text+" "+e.ExceptionDetails.URL)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			b.complaints = append(b.complaints, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// verdict is called before the program ends: then the page has to complain.
func (b *browser) verdict() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.judged {
		return
	}
	b.judged = true
	if len(b.elsewhere) > 0 {
		b.t.Errorf("the page asks elsewhere: %q", b.elsewhere)
	}
	if len(b.complaints) > 0 {
		b.t.Errorf("the browser complains: %q", b.complaints)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// command sends one of the protocol that chromedp has no action for.
func command[P, R any](b *browser, c cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, c, params); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns what an expression in the page is, as a text. A page that begins anew
// meanwhile is asked again: it does so when another program answers.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var v any
	harness.Eventually(b.t, "the page stays while it is asked", func() bool {
		var err error
		v, err = chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
		if err != nil && !leftPage(err) {
			b.t.Fatal(err)
		}
		return err == nil
	})
	return fmt.Sprint(v)
}

// leftPage reports whether err says that the page which was asked is not there any more.
func leftPage(err error) bool {
	return slices.ContainsFunc([]string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context"}, func(text string) bool {
		return strings.Contains(err.Error(), text)
	})
}

// text returns that of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return b.eval(fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector))
}

// cell returns the text of a cell in the row of a topic.
func (b *browser) cell(topic string, column int) string {
	b.t.Helper()
	return b.eval(fmt.Sprintf(`[...document.querySelectorAll("#topics tbody tr")].find((r) => r.querySelector(".name").textContent === %q)?.cells[%d].textContent ?? ""`, topic, column))
}

// shows waits until an element has a text.
func (b *browser) shows(selector, text string) {
	b.t.Helper()
	last := ""
	defer func() {
		if b.t.Failed() {
			b.t.Logf("%s shows %q", selector, last)
		}
	}()
	harness.Eventually(b.t, selector+" shows "+text, func() bool {
		last = b.text(selector)
		return strings.Contains(last, text)
	})
}

// click clicks as a user does, with what a user can click.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitEnabled(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// answers has the page agree to what begins with a text, if that is not empty, and refuse all else. It returns what the page
// has asked before.
func (b *browser) answers(agrees string) (asked string) {
	b.t.Helper()
	return b.eval(fmt.Sprintf(`(() => {
		const before = window.asked ?? "";
		window.confirm = (text) => { window.asked = text; return %q !== "" && text.startsWith(%q); };
		return before;
	})()`, agrees, agrees))
}

// press does with the keyboard what click does with the mouse.
func (b *browser) press(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitEnabled(chromedp.CSS(selector)), chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent(kb.Enter))
}

// fits checks that the page is not wider than its window, on a desk and on a phone. With
// GOROSBAG_SCREENSHOTS it also writes pictures into that directory, in light and dark: for people to look
// at, and expensive, because Chromium renders them in software.
func (b *browser) fits(name string) {
	b.t.Helper()
	dir := os.Getenv("GOROSBAG_SCREENSHOTS")
	for _, size := range []struct{ width, height int64 }{{1280, 900}, {390, 844}} {
		what := fmt.Sprintf("%s-%d", name, size.width)
		b.do(chromedp.EmulateViewport(size.width, size.height, chromedp.EmulateScale(2)))
		if overflow := b.eval("document.documentElement.scrollWidth - innerWidth"); overflow != "0" {
			b.t.Errorf("%s: the page is %s pixels wider than the window", what, overflow)
		}
		if dir != "" {
			b.picture(filepath.Join(dir, what+"-light.png"), "light")
			b.picture(filepath.Join(dir, what+"-dark.png"), "dark")
		}
	}
	b.do(chromedp.EmulateViewport(windowWidth, windowHeight))
}

// picture writes a picture of the whole page in a color scheme.
func (b *browser) picture(path, scheme string) {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// webState returns what a program says of itself.
func webState[S any](t *testing.T, host string) S {
	t.Helper()
	r, err := http.Get("http://" + host + "/api/v1/state")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var e struct {
		State S `json:"state"`
	}
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		t.Fatal(err)
	}
	return e.State
}
