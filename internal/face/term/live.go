// Package term owns the terminal of a program: it prints lines without making their writers wait,
// draws a frame below the lines, reads keys, and takes a line of text. It knows no program: a View
// returns the content of the frame.
//
// Decisions: ADR 0033.
package term

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
)

// Refresh is the time between two frames.
const Refresh = 250 * time.Millisecond

// redrawInterval is the time between two complete redraws.
const redrawInterval = 5 * time.Second

// View is the content of a Live. Its methods are called from several goroutines, but Frame by
// only one at a time.
type View interface {
	// Frame returns the lines of the frame, or none if there is nothing to show. There are fewer
	// lines than the terminal has rows, and each line is narrower than the terminal, so that
	// neither the lines nor the cursor ever wrap. help asks for lines that explain the others.
	Frame(width, height int, help bool) []string
	// Press performs the action of a key, without blocking.
	Press(keys.Key)
}

// Live shows a View below the lines of a console. Set the fields, then call Run.
type Live struct {
	Console *Console
	Size    func() (width, height int) // of the terminal; zero while the program is in the background
	View    View

	mu            sync.Mutex
	hidden        bool
	help          bool
	width, height int // of the terminal, when it was last in the foreground
	redrawn       time.Time
}

// typist is a View that takes a line of text at times: then keys are text.
type typist interface{ Typing() bool }

// typing reports whether keys are text.
func (l *Live) typing() bool {
	v, ok := l.View.(typist)
	return ok && v.Typing()
}

// Key is the action of one or more keys. Its name depends on the statistics S.
type Key[S any] struct {
	Press []keys.Key      // the keys that do the same; the first is shown
	Name  func(*S) string // the present action, in a word; empty if none; nil shows it in the help only
	Help  string          // the text in the help; empty means the name
	Do    func()          // must not block; nil for the help, which Live does
}

// Press performs the action of a key.
func (l *Live) Press(key keys.Key) {
	if !l.typing() && (key == '?' || key == 'h' || key == keys.Escape) {
		l.mu.Lock()
		l.help = !l.help && key != keys.Escape
		l.mu.Unlock()
	} else {
		l.View.Press(key)
	}
	l.draw()
}

// Press performs the action of a key in a table.
func Press[S any](table []Key[S], key keys.Key) {
	for _, k := range table {
		if slices.Contains(k.Press, key) && k.Do != nil {
			k.Do()
			return
		}
	}
}

// Footer names the keys of a table.
func Footer[S any](p termtext.Pen, table []Key[S], s *S, w, lines int) []string {
	var parts []termtext.Part
	for _, k := range table {
		if k.Name == nil {
			continue
		}
		if name := k.Name(s); name != "" {
			parts = append(parts, termtext.Dim.Part(k.Press[0].String()+": "+name))
		}
	}
	if len(parts) == 0 {
		parts = []termtext.Part{termtext.Dim.Part("Ctrl-C: quit")}
	}
	return p.Flow(parts, w, lines)
}

// Run draws until ctx ends, then removes the frame. It never waits for the terminal.
func (l *Live) Run(ctx context.Context) {
	defer l.Console.Draw(nil)
	tick := time.NewTicker(Refresh)
	defer tick.Stop()
	for {
		l.draw()
		select {
		case <-tick.C:
		case <-ctx.Done():
			l.mu.Lock()
			l.hidden = true // a late key must not draw
			l.mu.Unlock()
			return
		}
	}
}

func (l *Live) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	width, height := l.Size()
	l.sized(width, height, false)
	// Other programs may write to the terminal, which moves the cursor without our knowing. A complete
	// redraw now and then gives a misplaced frame a place again.
	if now := time.Now(); now.Sub(l.redrawn) >= redrawInterval {
		l.Console.Redraw()
		l.redrawn = now
	}
	if l.hidden || width == 0 || height == 0 {
		l.Console.Draw(nil)
		return
	}
	l.Console.Draw(l.View.Frame(width, height, l.help))
}

// Resized reports that the size of the terminal has changed. Without it, a short change would
// be missed.
func (l *Live) Resized() {
	l.mu.Lock()
	defer l.mu.Unlock()
	width, height := l.Size()
	l.sized(width, height, true)
}

// sized passes the size to the console if it has changed, or if changed is set.
func (l *Live) sized(width, height int, changed bool) {
	if width > 0 && height > 0 && (changed || width != l.width || height != l.height) {
		l.Console.Resize(width, height)
		l.width, l.height = width, height
	}
}

// Hide removes the frame until Show, and waits for that at most the given time.
func (l *Live) Hide(within time.Duration) {
	l.mu.Lock()
	l.hidden = true
	l.mu.Unlock()
	l.Console.Hide(within)
}

// Show ends what Hide began.
func (l *Live) Show() {
	l.mu.Lock()
	l.hidden = false
	l.mu.Unlock()
	l.draw()
}
