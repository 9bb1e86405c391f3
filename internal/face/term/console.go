package term

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

const (
	maxQueuedBytes  = 256 << 10       // bytes of lines that wait for a slow terminal
	maxHistoryBytes = 64 << 10        // bytes of past lines that are stored: more than a screen
	closeTimeout    = 2 * time.Second // how long Close waits for a blocked terminal
)

// Console writes lines in a goroutine of its own, so that a blocked terminal or pipe does not
// block the callers. Lines that do not fit into its queue are dropped, and their number is
// printed. On a terminal it can show a frame below the lines.
//
// The cursor rests on the first cell of the frame. So the position of the frame stays right
// however a terminal wraps long lines when its size changes, and when the program is killed,
// the shell continues at that place. No mode of the terminal is changed for longer than one
// write.
//
// Many terminals rewrap all lines when they get narrower, before we are notified: then the
// frame takes more rows, and the upper ones may scroll into the scrollback, where they cannot
// be removed, and come back when the terminal grows. In that case everything on the screen is
// moved to the scrollback, because it may contain output of the user, and our last lines are
// written again above the frame.
type Console struct {
	w        io.Writer
	terminal bool

	mu          sync.Mutex
	work        sync.Cond // there is work for the goroutine paint
	lines       []byte    // whole lines, not written yet
	dropped     int       // number of dropped lines
	frame       []string  // the frame to be shown below the lines
	drawn       []string  // the frame that the screen shows
	redraw      bool      // draw the frame even if it has not changed
	redrawLines bool      // and redraw the lines above it
	torn        bool      // rows of a frame may be in the scrollback
	width       int       // of the terminal; zero until it is known
	height      int
	waiters     []chan struct{}
	closed      bool
	err         error         // of the last write
	ended       chan struct{} // closed when paint has ended
}

// NewConsole returns a console that writes to w. The caller has to close it.
func NewConsole(w io.Writer, terminal bool) *Console {
	c := &Console{w: w, terminal: terminal, ended: make(chan struct{})}
	c.work.L = &c.mu
	// owner: Console; ends in Close, unless a write to w never returns.
	go c.paint()
	return c
}

// Write queues one or more lines. It does not wait for the terminal and always succeeds:
// callers could not report an error elsewhere. While there is a frame, it adds a missing
// newline.
func (c *Console) Write(lines []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(lines) == 0:
	case c.dropped > 0 || len(c.lines) > 0 && len(c.lines)+len(lines) > maxQueuedBytes:
		c.dropped += max(1, bytes.Count(lines, []byte("\n")))
	default:
		c.lines = append(c.lines, c.clean(lines)...)
		if lines[len(lines)-1] != '\n' && len(c.frame)+len(c.drawn) > 0 {
			c.lines = append(c.lines, '\n')
		}
	}
	c.work.Signal()
	return len(lines), nil
}

// clean escapes non-ASCII control characters, which could control the terminal. ASCII control
// characters are the log's own: the log escapes those in values. Files are cleaned, too: they
// may be shown on a terminal later, as by docker logs.
func (c *Console) clean(lines []byte) []byte {
	odd := func(r rune) bool { return r >= utf8.RuneSelf && !strconv.IsPrint(r) || r == 0x7f }
	if bytes.IndexFunc(lines, odd) < 0 {
		return lines
	}
	var b []byte
	for _, r := range string(lines) {
		if odd(r) {
			b = append(b, bytes.Trim(strconv.AppendQuoteRuneToASCII(nil, r), "'")...)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// Draw replaces the frame below the lines; an empty one removes it. Its lines must be narrower
// than the terminal, and fewer than the terminal has. Draw does not wait.
func (c *Console) Draw(frame []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frame = slices.Clone(frame)
	c.work.Signal()
}

// Redraw draws the frame again even if it has not changed: other programs may have written.
func (c *Console) Redraw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.redraw = true
	c.work.Signal()
}

// Resize sets the size of the terminal for the next frame. The same size again means that the
// terminal had another size in between.
func (c *Console) Resize(width, height int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.width > 0; known && len(c.drawn) > 0 {
		same := width == c.width && height == c.height
		c.torn = c.torn || same || width < c.width
		c.redrawLines = c.redrawLines || c.torn && (same || width > c.width || height > c.height)
	}
	c.width, c.height, c.redraw = width, height, true
	c.frame = c.frame[:min(len(c.frame), max(0, height-1))] // lines may come before the next one
}

// Hide removes the frame and reports whether it is gone within the time given.
func (c *Console) Hide(within time.Duration) bool {
	c.Draw(nil)
	done := make(chan struct{})
	c.mu.Lock()
	c.waiters = append(c.waiters, done)
	c.work.Signal()
	c.mu.Unlock()
	return closedWithin(done, within)
}

// Flush removes the frame and waits, for a limited time, until everything is written.
func (c *Console) Flush() { c.Hide(hideTimeout) }

// Close removes the frame and writes the queue, but gives up on a terminal that is blocked for
// two seconds. It returns the error of the last write.
func (c *Console) Close() error {
	c.mu.Lock()
	c.frame, c.closed = nil, true
	c.work.Signal()
	c.mu.Unlock()
	closedWithin(c.ended, closeTimeout)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// closedWithin reports whether c is closed within the time given.
func closedWithin(c <-chan struct{}, within time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(within):
		return false
	}
}

// paint writes until Close.
func (c *Console) paint() {
	defer close(c.ended)
	var lines, out, history []byte
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for c.idleLocked() {
			for _, done := range c.waiters {
				close(done)
			}
			c.waiters = nil
			if c.closed {
				return
			}
			c.work.Wait()
		}
		lines, c.lines = c.lines, lines[:0] // two buffers take turns
		if c.dropped > 0 {
			lines = fmt.Appendf(lines, "(%s left out: not taken in time)\n",
				wording.Plural(c.dropped, "line"))
		}
		before := ""
		switch {
		case len(c.drawn) == 0:
		case c.redrawLines:
			before = eraseFrame + scrollUp(c.height) + string(lastRows(history, c.width,
				c.height-len(c.frame)))
			c.drawn = nil
		case c.redraw:
			before = eraseFrame
			c.drawn = nil // there may be less room for a frame than before
		}
		if c.terminal {
			history = appendHistory(history, lines)
		}
		if before != "" {
			lines = append([]byte(before), lines...)
		}
		out = compose(out[:0], lines, c.drawn, c.frame)
		c.dropped, c.drawn, c.redraw, c.redrawLines = 0, c.frame, false, false
		c.mu.Unlock()
		var err error
		if len(out) > 0 {
			_, err = c.w.Write(out) // a terminal that is gone must not end a recording
		}
		c.mu.Lock()
		c.err = err
	}
}

// idleLocked reports whether the screen is up to date.
func (c *Console) idleLocked() bool {
	return len(c.lines) == 0 && c.dropped == 0 && !c.redraw && slices.Equal(c.drawn, c.frame)
}

// appendHistory appends lines to the stored past lines.
func appendHistory(kept, lines []byte) []byte {
	kept = append(kept, lines...)
	if len(kept) < 2*maxHistoryBytes {
		return kept
	}
	rest := kept[len(kept)-maxHistoryBytes:]
	return append(kept[:0], rest[bytes.IndexByte(rest, '\n')+1:]...)
}

// lastRows returns the last lines that fit into a number of rows.
func lastRows(lines []byte, w, most int) []byte {
	at := len(lines)
	for rows := 0; at > 0 && rows < most; {
		begin := bytes.LastIndexByte(lines[:at-1], '\n') + 1
		rows += max(1, (termtext.Width(string(uncolored(lines[begin:at])))+w-1)/w)
		at = begin
	}
	return lines[at:]
}

// uncolored returns a line of a log without the control sequences of its colors.
func uncolored(line []byte) []byte {
	var text []byte
	for {
		before, rest, colored := bytes.Cut(line, []byte("\x1b["))
		text = append(text, before...)
		if !colored {
			return text
		}
		_, line, _ = bytes.Cut(rest, []byte("m"))
	}
}

// Of the control sequences of ECMA-48 and DEC only those that every terminal has.
const (
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K"
	nextLine   = "\r\x1b[B" // if there is one: unlike a newline it never scrolls
	home       = "\x1b[H"
	saveCursor = "\x1b7"
	restore    = "\x1b8"    // the cursor
	wrapOff    = "\x1b[?7l" // a line that is wider than we think stays one line
	wrapOn     = "\x1b[?7h"

	// Not from the first column: tmux moves everything that is erased from the first cell of
	// the screen on into the scrollback.
	eraseFrame = "\r" + eraseRight + "\x1b[C" + eraseBelow + "\r"
)

// scrollUp moves all that is above the cursor into the scrollback, and the cursor to the
// first row.
func scrollUp(height int) string { return strings.Repeat("\n", max(0, height-1)) + home }

// compose appends the control sequences and text that overwrite the present frame with lines
// and draw the next frame below them. Before and after, the cursor is at the start of the
// frame.
func compose(out, lines []byte, drawn, frame []string) []byte {
	if len(drawn) > 0 && (len(lines) > 0 || len(frame) == 0) {
		out = append(out, eraseFrame...)
		drawn = nil
	}
	out = append(out, lines...)
	if len(frame) == 0 {
		return out
	}
	out = append(out, '\r')
	// Make room only for a frame that grows. A frame of the same size must not scroll: the terminal may
	// have shrunk without our knowing. For the same reason erase the present frame first, so that no part
	// of it scrolls away.
	if n := len(frame) - 1; n > 0 && n >= len(drawn) {
		if len(drawn) > 0 {
			out = append(out, eraseFrame...)
		}
		out = append(out, strings.Repeat("\n", n)...)
		out = fmt.Appendf(out, "\r\x1b[%dA", n)
	}
	out = append(out, saveCursor+wrapOff...)
	for i, line := range frame {
		if i > 0 {
			out = append(out, nextLine...)
		}
		out = append(out, line...)
		out = append(out, eraseRight...) // not before: the screen would flicker
	}
	return append(out, eraseBelow+wrapOn+restore...)
}
