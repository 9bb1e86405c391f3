package live_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// browser is a page in Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser opens a page.
func newBrowser(t *testing.T, url string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(harness.NeedChromium(t)), chromedp.NoSandbox)
	ctx, cancel := context.WithTimeout(context.Background(), 3*harness.Timeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return &browser{t, ctx}
}

// await returns what a promise in the page gives, as a text.
func (b *browser) await(promise string) string {
	b.t.Helper()
	b.eval("window.answer = ''; (" + promise + ").then(a => { window.answer = a; }); ''")
	answer := ""
	harness.Eventually(b.t, "the page has an answer", func() bool {
		answer = b.eval("window.answer")
		return answer != ""
	})
	return answer
}

func (b *browser) eval(expression string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprint(v)
}
