package screen

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
)

const (
	mostWaiting = 256 << 10       // bytes of lines that wait for a slow terminal
	patience    = 2 * time.Second // how long the end waits for a terminal that takes nothing
)

// Console writes lines in a goroutine of its own, so that a terminal or a pipe that
// takes nothing holds up nobody. What does not fit into its queue is left out, and
// counted in a line of its own. On a terminal it can keep a frame below the lines.
//
// The cursor rests on the first cell of the frame. So the place of the frame is right
// whatever a terminal does with long lines when its size changes, and a program that
// is killed leaves a cursor from where the shell goes on. No mode of the terminal is
// changed for longer than one write.
type Console struct {
	w        io.Writer
	terminal bool

	mu      sync.Mutex
	work    sync.Cond // there is something for the painter
	lines   []byte    // whole lines, not written yet
	leftOut int       // lines that did not fit
	frame   []string  // what the screen shall show below the lines
	drawn   []string  // what it shows
	resized bool      // the frame is to be drawn even if it is what the screen shows
	waiters []chan struct{}
	closed  bool
	err     error         // of the last write
	ended   chan struct{} // closed when the painter has ended
}

// NewConsole returns a console that writes to w. Close it in the end.
func NewConsole(w io.Writer, terminal bool) *Console {
	c := &Console{w: w, terminal: terminal, ended: make(chan struct{})}
	c.work.L = &c.mu
	// owner: Console; ends in Close, unless w never takes what is being written.
	go c.paint()
	return c
}

// Write takes one or more lines. It does not wait for the terminal and always
// succeeds: there is nobody to tell that nobody listens.
func (c *Console) Write(lines []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(lines) == 0:
	case c.leftOut > 0 || len(c.lines)+len(lines) > mostWaiting:
		c.leftOut += max(1, bytes.Count(lines, []byte("\n")))
	default:
		c.lines = append(c.lines, c.clean(lines)...)
		if lines[len(lines)-1] != '\n' {
			c.lines = append(c.lines, '\n')
		}
	}
	c.work.Signal()
	return len(lines), nil
}

// clean spells out the characters beyond ASCII that could drive a terminal. Those of
// ASCII are the log's own: it escapes those of others.
func (c *Console) clean(lines []byte) []byte {
	odd := func(r rune) bool { return r >= utf8.RuneSelf && !strconv.IsPrint(r) || r == 0x7f }
	if !c.terminal || bytes.IndexFunc(lines, odd) < 0 {
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

// Draw puts a frame below the lines, in place of the one before; none removes it. The
// lines must be narrower than the terminal, and fewer than it has. It does not wait.
func (c *Console) Draw(frame []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frame = slices.Clone(frame)
	c.work.Signal()
}

// Redraw draws the frame anew although it is the same: the terminal may have changed.
func (c *Console) Redraw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resized = true
	c.work.Signal()
}

// Hide removes the frame and reports whether it is gone within the time given.
func (c *Console) Hide(within time.Duration) bool {
	c.Draw(nil)
	done := make(chan struct{})
	c.mu.Lock()
	c.waiters = append(c.waiters, done)
	c.work.Signal()
	c.mu.Unlock()
	return closes(done, within)
}

// Close removes the frame and writes what waits, but gives up on a terminal that
// takes nothing for two seconds. It returns the error of the last write.
func (c *Console) Close() error {
	c.mu.Lock()
	c.frame, c.closed = nil, true
	c.work.Signal()
	c.mu.Unlock()
	closes(c.ended, patience)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// closes reports whether c is closed within the time given.
func closes(c <-chan struct{}, within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// paint writes until Close.
func (c *Console) paint() {
	defer close(c.ended)
	var lines, out []byte
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for c.idle() {
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
		if c.leftOut > 0 {
			lines = fmt.Appendf(lines, "(%d lines left out: they were not taken in time)\n", c.leftOut)
		}
		if c.resized && len(c.drawn) > 0 {
			c.drawn = nil // there may be less room for it than there was
			lines = append([]byte(eraseFrame), lines...)
		}
		out = compose(out[:0], lines, c.drawn, c.frame)
		c.leftOut, c.drawn, c.resized = 0, c.frame, false
		c.mu.Unlock()
		var err error
		if len(out) > 0 {
			_, err = c.w.Write(out) // a terminal that is gone must not end a recording
		}
		c.mu.Lock()
		c.err = err
	}
}

// idle reports whether the screen shows what it shall. mu is held.
func (c *Console) idle() bool {
	return len(c.lines) == 0 && c.leftOut == 0 && !c.resized && slices.Equal(c.drawn, c.frame)
}

// Of the control sequences of ECMA-48 and DEC only those that every terminal has.
const (
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K"
	nextLine   = "\r\x1b[B" // if there is one: unlike a newline it never scrolls
	saveCursor = "\x1b7"
	backToIt   = "\x1b8"
	wrapOff    = "\x1b[?7l" // a line that is wider than we think stays one line
	wrapOn     = "\x1b[?7h"

	// Not from the first column: tmux takes what is erased from the first cell of the
	// screen on for worth keeping, and puts it into the scrollback.
	eraseFrame = "\r" + eraseRight + "\x1b[C" + eraseBelow + "\r"
)

// compose appends what writes the lines over the frame that is drawn, and the next one
// below them. The cursor is, before and after, at the start of the frame.
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
	// Room is made only for a frame that grows. Drawn again, it does not scroll: the
	// terminal may have shrunk and we do not know it yet. For the same reason nothing
	// of a frame is there to scroll away while room is made.
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
	return append(out, eraseBelow+wrapOn+backToIt...)
}
