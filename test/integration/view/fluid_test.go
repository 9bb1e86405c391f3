package view_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// Limits of what a user waits for: those of a quiet machine, as time of processors. What passes on a busy machine is at most
// busy times as much.
const (
	firstLook  = time.Second           // to the time line, and as much to a picture
	longFrame  = 50 * time.Millisecond // of work of the page for one frame
	infoRatio  = 2                     // beside gobag info, where that takes longer
	busy       = 5
	frameMoves = 60 // of the pointer, the wheel and the playhead
)

// TestFluid: bags of 500 topics with a million messages, and of a million chunks, are there at once and follow the fingers.
func TestFluid(t *testing.T) {
	harness.Long(t, "makes bags of 560 MB, and measures times")
	for name, chunks := range map[string]bool{"topics": false, "chunks": true} {
		t.Run(name, func(t *testing.T) { // not at the same time: both measure
			path := filepath.Join(t.TempDir(), name+".bag")
			writeTopics(t, path, 1_000_000, chunks)
			info, infoWork := informed(t, path)
			began := time.Now()
			address, process := start(t, path)
			opened := time.Since(began)
			p := open(t, "about:blank", 1280, 900)
			p.visit(address)
			work := sum(p.frames(func() {
				if err := chromedp.Do(p.ctx, chromedp.Navigate(address+"#topic=/camera&at=1000")); err != nil {
					t.Fatal(err)
				}
				p.until("the time line and a picture are there", `performance.getEntriesByType("mark").length === 2`)
			}))
			line, picture, gobag := p.since("time line"), p.since("picture"), processorTime(t, process)
			t.Logf("gobag info: %v, %v of work", info, infoWork)
			t.Logf("gobag view: %v to the address, %v to the time line, %v to the picture, %v of work, %v in the browser", opened, line, picture, gobag, work)
			if most := max(firstLook, infoRatio*infoWork); gobag > most || work > firstLook {
				t.Errorf("the first look takes %v of work and %v in the browser, more than %v", gobag, work, most)
			}
			if most := busy * max(firstLook, infoRatio*info); opened+line > most || picture-line > busy*firstLook {
				t.Errorf("the time line is there after %v and the picture after %v, more than %v", opened+line, opened+picture, most)
			}
			for what, act := range p.gestures() {
				frames := p.frames(func() {
					for n := range frameMoves {
						act(n)
						p.frame()
					}
				})
				slices.Sort(frames)
				t.Logf("%s: %d frames, half of them within %v, the longest %v", what, len(frames), frames[len(frames)/2], frames[len(frames)-1])
				if len(frames) < frameMoves/2 || frames[len(frames)-1] > longFrame {
					t.Errorf("%s: %d frames, the longest takes %v of work", what, len(frames), frames[len(frames)-1])
				}
			}
			p.choose("/sensor_499")
			p.key("End")
			p.shows("#message-panel", "+4999.995")
			checkMemory(t, process)
		})
	}
}

// informed returns how long gobag info takes, and how much of it on the processors: the least of three times.
func informed(t *testing.T, path string) (least, work time.Duration) {
	t.Helper()
	for range 3 {
		began := time.Now()
		cmd := exec.CommandContext(t.Context(), filepath.Join(harness.Bin(), "gobag"), "info", path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		took, worked := time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
		if least == 0 {
			least, work = took, worked
		}
		least, work = min(least, took), min(work, worked)
	}
	return least, work
}

// processorTime returns how much a process has worked so far.
func processorTime(t *testing.T, process *os.Process) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var state string
	var user, system, skipped int64
	if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &skipped, &skipped, &skipped, &skipped, &skipped, &skipped, &skipped,
		&skipped, &skipped, &skipped, &user, &system); err != nil {
		t.Fatalf("%v: %s", err, stat)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // there are 100 ticks in a second
}

func sum(list []time.Duration) (all time.Duration) {
	for _, d := range list {
		all += d
	}
	return all
}

// since returns when the page first had something, from when it was asked for.
func (p *page) since(name string) time.Duration {
	p.t.Helper()
	text := p.eval(fmt.Sprintf("performance.getEntriesByName(%q)[0].startTime", name))
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// gestures are what a user does to the time line, again and again.
func (p *page) gestures() map[string]func(n int) {
	p.t.Helper()
	var rows, ruler struct{ X, Y float64 }
	for selector, to := range map[string]any{"#rows": &rows, "#ruler": &ruler} {
		text := p.eval(fmt.Sprintf(`{ const b = document.querySelector(%q).getBoundingClientRect(); JSON.stringify({ x: b.left + b.width / 2, y: b.top + b.height / 2 }) }`, selector))
		if err := json.Unmarshal([]byte(text), to); err != nil {
			p.t.Fatal(err)
		}
	}
	mouse := func(kind input.DispatchMouseEventType, x, y float64, o input.DispatchMouseEventParams) {
		o.Type, o.X, o.Y = kind, x, y
		call(p, input.DispatchMouseEvent, o)
	}
	const tiny = 1e-9 // the package leaves out what is zero, and the browser wants it
	sign := func(n int) float64 { return float64(1 - 2*(n/(frameMoves/2)%2)) }
	return map[string]func(n int){
		"scrolling": func(n int) {
			mouse(input.DispatchMouseEventTypeMouseWheel, rows.X, rows.Y, input.DispatchMouseEventParams{DeltaX: tiny, DeltaY: 200 * sign(n)})
		},
		"zooming": func(n int) {
			mouse(input.DispatchMouseEventTypeMouseWheel, ruler.X, ruler.Y, input.DispatchMouseEventParams{DeltaX: tiny, DeltaY: -40 * sign(n)})
		},
		"dragging": func(n int) {
			if n == 0 {
				mouse(input.DispatchMouseEventTypeMousePressed, rows.X, rows.Y, input.DispatchMouseEventParams{Button: input.MouseButtonLeft, ClickCount: 1})
			}
			x := rows.X + 6*float64(n)
			mouse(input.DispatchMouseEventTypeMouseMoved, x, rows.Y, input.DispatchMouseEventParams{Button: input.MouseButtonLeft, Buttons: 1})
			if n == frameMoves-1 {
				mouse(input.DispatchMouseEventTypeMouseReleased, x, rows.Y, input.DispatchMouseEventParams{Button: input.MouseButtonLeft, ClickCount: 1})
			}
		},
		"stepping": func(int) { p.key("n") },
		"filtering": func(n int) {
			p.eval(fmt.Sprintf(`{ const f = document.getElementById("filter"); f.value = %q.slice(0, %d); f.dispatchEvent(new Event("input")); 1; }`, "/sensor_49", n%11))
		},
	}
}

// frame waits until the page was drawn.
func (p *page) frame() {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[any]("new Promise((done) => requestAnimationFrame(() => done(1)))", chromedp.EvalAwaitPromise)); err != nil {
		p.t.Fatal(err)
	}
}

// traced is an event of the trace of a browser. Times are in microseconds.
type traced struct {
	Name       string
	Process    int   `json:"pid"`
	Thread     int   `json:"tid"`
	At         int64 `json:"ts"`
	ThreadTime int64 `json:"tdur"` // for which the thread ran
}

// frames returns how long the page worked for each frame while something is done, by the trace of the browser. What other
// processes take from it does not count.
func (p *page) frames(do func()) (list []time.Duration) {
	p.t.Helper()
	p.mu.Lock()
	p.trace, p.traced = nil, make(chan struct{})
	p.mu.Unlock()
	call(p, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{
		IncludedCategories: []string{"disabled-by-default-devtools.timeline"}, ExcludedCategories: []string{"*"},
	}})
	do()
	call(p, tracing.End, cdp.Empty{})
	select {
	case <-p.traced:
	case <-p.ctx.Done():
		p.t.Fatal("the browser has no trace")
	}
	type thread struct{ process, number int }
	commits, tasks := make(map[thread][]traced), make(map[thread][]traced)
	for _, v := range p.trace {
		var e traced
		if err := json.Unmarshal(v, &e); err != nil {
			p.t.Fatal(err)
		}
		switch e.Name {
		case "Commit": // of a frame that is drawn
			commits[thread{e.Process, e.Thread}] = append(commits[thread{e.Process, e.Thread}], e)
		case "RunTask":
			tasks[thread{e.Process, e.Thread}] = append(tasks[thread{e.Process, e.Thread}], e)
		}
	}
	var drawn []traced
	var worked []traced
	for t, list := range commits { // that of the page has the most
		if len(list) > len(drawn) {
			drawn, worked = list, tasks[t]
		}
	}
	byTime := func(a, b traced) int { return cmp.Compare(a.At, b.At) }
	slices.SortFunc(drawn, byTime)
	list = make([]time.Duration, len(drawn)+1)
	for _, task := range worked {
		i, _ := slices.BinarySearchFunc(drawn, task, byTime)
		list[i] += time.Duration(task.ThreadTime) * time.Microsecond
	}
	return list
}
