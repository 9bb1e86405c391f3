package screen

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/recorder"
)

const (
	refresh = 250 * time.Millisecond // between two frames
	mend    = 5 * time.Second        // after this time the frame is drawn anew
)

// Live shows a recording under way below the lines of a console. Set the fields, then
// call Run.
type Live struct {
	Console *Console
	Size    func() (width, height int)     // of the terminal; zero while it is not ours to draw on
	Stats   func() (recorder.Stats, error) // with an error nothing is shown
	Color   bool                           // the terminal has colors, and they are wanted
	Keys    []Key                          // named in the last line

	Split     bool          // a file that is full is followed by a next one
	FileBytes int64         // a file is full with so many bytes; zero means never
	FileTime  time.Duration // or after this time; zero means never

	mu            sync.Mutex
	hidden        bool
	help          bool // the columns are explained
	width, height int  // at the last frame
	redrawn       time.Time
	rates         rates
	shown         string // the file at the last frame
	fileSince     time.Time
}

// Key is what a key press does.
type Key struct {
	Press string                       // the keys that do the same; the first is shown
	Name  func(*recorder.Stats) string // what it would do now, in a word; empty if nothing
	Do    func()                       // must not block
}

// Press does what a key means.
func (l *Live) Press(key byte) {
	if key == '?' || key == 'h' {
		l.mu.Lock()
		l.help = !l.help
		l.mu.Unlock()
		l.draw()
		return
	}
	for _, k := range l.Keys {
		if strings.IndexByte(k.Press, key) >= 0 {
			k.Do()
			return
		}
	}
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
			return
		}
	}
}

func (l *Live) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	width, height := l.Size()
	s, err := l.Stats()
	// What others write to the terminal moves the cursor, and nothing tells us: so a
	// frame that has lost its place finds one in the end.
	if width != l.width || height != l.height || s.Taken.Sub(l.redrawn) >= mend {
		l.Console.Redraw()
		l.redrawn = s.Taken
	}
	l.width, l.height = width, height
	if err != nil || l.hidden || width == 0 || height == 0 {
		l.Console.Draw(nil)
		return
	}
	l.look(&s)
	l.Console.Draw(l.frame(&s, width, height))
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

// look takes the next account.
func (l *Live) look(s *recorder.Stats) {
	l.rates.add(s)
	switch {
	case l.fileSince.IsZero():
		l.fileSince = s.Taken.Add(-s.Elapsed)
	case s.File != l.shown:
		l.fileSince = s.Taken
	}
	l.shown = s.File
}
