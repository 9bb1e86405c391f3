package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/gorosbag/gorosbag/internal/explain"
)

const (
	meterDelay    = 500 * time.Millisecond // shorter work shows no bar
	meterInterval = 100 * time.Millisecond // between two updates
)

// meter draws a progress bar: percent, bytes per second and the time that is left.
// It draws on terminals only. It may be moved by several goroutines.
type meter struct {
	mu    sync.Mutex
	w     io.Writer // nil: draw nothing
	bar   *progressbar.ProgressBar
	title string // of the current work
	total int64  // bytes of the current work, 0 if unknown
	done  int64
	begun time.Time
	drawn time.Time
}

// newMeter draws on w if that is a terminal and quiet is not set.
func newMeter(w io.Writer, quiet bool) *meter {
	if quiet || !isTerminal(w) {
		return &meter{}
	}
	return &meter{w: w}
}

// begin starts a piece of work. Until it ends, title and size in calls of add are ignored.
func (m *meter) begin(title string, total int64) {
	m.clear()
	if m.w != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.title, m.total, m.done, m.begun = title, total, 0, time.Now()
	}
}

// add counts n bytes. If no work is running, it starts one with this title and size.
func (m *meter) add(n int64, title string, total int64) {
	if m.w == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.begun.IsZero() {
		m.title, m.total, m.done, m.begun = title, total, 0, now
	}
	m.done += n
	if now.Sub(m.begun) < meterDelay || now.Sub(m.drawn) < meterInterval {
		return
	}
	m.drawn = now
	m.draw()
}

// draw draws the bar. As a file may be read more than once, done may exceed total.
func (m *meter) draw() {
	if m.total <= 0 {
		return
	}
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(m.total,
			progressbar.OptionSetWriter(m.w),
			progressbar.OptionSetDescription(shortenTitle(m.title)),
			progressbar.OptionShowBytes(true),
			progressbar.OptionShowTotalBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(20),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true),
		)
	}
	_ = m.bar.Set64(min(m.done, m.total-1)) // errors of drawing are ignored
}

// clear ends the work and removes its bar.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.erase()
	m.bar, m.begun = nil, time.Time{}
}

// hide removes the bar until it is drawn again, so that a line can be written.
func (m *meter) hide() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.erase()
}

func (m *meter) erase() {
	if m.bar != nil {
		_ = m.bar.Clear() // as above
	}
}

// titleRunes is the space beside the bar in 80 columns.
const titleRunes = 28

// shortenTitle makes a title fit, by its end: there is the name of the file.
func shortenTitle(title string) string {
	r := []rune(explain.Name(title))
	if len(r) <= titleRunes {
		return string(r)
	}
	return "..." + string(r[len(r)-titleRunes+3:])
}
