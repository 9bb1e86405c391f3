package screen

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/keys"
)

const (
	refresh = 250 * time.Millisecond // between two frames
	mend    = 5 * time.Second        // after this time the frame is drawn anew
)

// View is what a Live shows. Its methods are called from several goroutines, but Frame
// by one at a time.
type View interface {
	// Frame returns fewer lines than the terminal has, each narrower than it is, so that
	// neither the lines nor the cursor ever wrap; none if there is nothing to show. help
	// asks for what explains the rest.
	Frame(width, height int, help bool) []string
	// Press does what a key means. It must not block.
	Press(keys.Key)
}

// Live shows a View below the lines of a console. Set the fields, then call Run.
type Live struct {
	Console *Console
	Size    func() (width, height int) // of the terminal; zero while it is not ours to draw on
	View    View

	mu            sync.Mutex
	hidden        bool
	help          bool
	width, height int // of the terminal, when it was last ours
	redrawn       time.Time
}

// Key is what a key press does. The name of that depends on an account S.
type Key[S any] struct {
	Press []keys.Key      // the keys that do the same; the first is shown
	Name  func(*S) string // what it would do now, in a word; empty if nothing. nil leaves it to the help
	Help  string          // the same for the help; empty if the name says it all
	Do    func()          // must not block; nil for the help, which Live does
}

// Press does what a key means.
func (l *Live) Press(key keys.Key) {
	if key == '?' || key == 'h' || key == keys.Escape {
		l.mu.Lock()
		l.help = !l.help && key != keys.Escape
		l.mu.Unlock()
	} else {
		l.View.Press(key)
	}
	l.draw()
}

// press does what a key means by a table.
func press[S any](table []Key[S], key keys.Key) {
	for _, k := range table {
		if slices.Contains(k.Press, key) && k.Do != nil {
			k.Do()
			return
		}
	}
}

// footer names the keys of a table.
func footer[S any](p pen, table []Key[S], s *S, w, lines int) []string {
	var parts []part
	for _, k := range table {
		if k.Name == nil {
			continue
		}
		if name := k.Name(s); name != "" {
			parts = append(parts, part{k.Press[0].String() + ": " + name, dim})
		}
	}
	if len(parts) == 0 {
		parts = []part{{"Ctrl-C: quit", dim}}
	}
	return p.flow(parts, w, lines)
}

// Run draws until ctx is done, then removes the frame. It never waits for the
// terminal.
func (l *Live) Run(ctx context.Context) {
	defer l.Console.Draw(nil)
	tick := time.NewTicker(refresh)
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
	// What others write to the terminal moves the cursor, and nothing tells us: so a
	// frame that has lost its place finds one in the end.
	if now := time.Now(); now.Sub(l.redrawn) >= mend {
		l.Console.Redraw()
		l.redrawn = now
	}
	if l.hidden || width == 0 || height == 0 {
		l.Console.Draw(nil)
		return
	}
	l.Console.Draw(l.View.Frame(width, height, l.help))
}

// Resized says that the terminal has got another size. Without it a size that is had
// for a moment only would not be noticed.
func (l *Live) Resized() {
	l.mu.Lock()
	defer l.mu.Unlock()
	width, height := l.Size()
	l.sized(width, height, true)
}

// sized tells the console of a size if it is a new one, or if it is known to be.
func (l *Live) sized(width, height int, changed bool) {
	if width > 0 && height > 0 && (changed || width != l.width || height != l.height) {
		l.Console.Resize(width, height)
		l.width, l.height = width, height
	}
}

// Hide removes the frame until Show, and waits for that no longer than the time given.
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
