package main

import (
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/gorosbag/gorosbag/internal/explain"
)

const (
	barDelay    = 500 * time.Millisecond // shorter work shows no bar
	barInterval = 100 * time.Millisecond // between two updates
)

// work is what a bar shows the progress of.
type work struct {
	title string
	total int64 // 0 if it is not known
	bytes bool  // total is in bytes; otherwise in bags
}

// bar draws a progress bar: percent, what is done, bytes per second and the time that is left.
// It draws on terminals only. Several goroutines may move it.
type bar struct {
	mu    sync.Mutex
	w     io.Writer // nil: draw nothing
	bar   *progressbar.ProgressBar
	work  work
	done  int64     // bytes or bags of work
	begun time.Time // zero if no work is running
	drawn time.Time
}

// newBar draws on w if that is a terminal and quiet is not set.
func newBar(w io.Writer, quiet bool) *bar {
	if quiet || !isTerminal(w) {
		return &bar{}
	}
	return &bar{w: w}
}

// begin starts a piece of work. Until clear or another begin ends the work, the work that is given
// to add is ignored.
func (b *bar) begin(work work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start(work)
}

// add counts what was done. If no work is running, it starts one.
func (b *bar) add(n int64, work work) {
	if b.w == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun.IsZero() {
		b.start(work)
	}
	b.done += n
	b.draw()
}

// set tells how much of a piece of work is done. It starts the work, unless the same is running.
func (b *bar) set(work work, done int64) {
	if b.w == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun.IsZero() || work != b.work {
		b.start(work)
	}
	b.done = done
	b.draw()
}

func (b *bar) start(work work) {
	b.erase()
	b.bar, b.work, b.done, b.begun = nil, work, 0, time.Now()
}

// draw draws the bar if it is time to. As a file may be read more than once, done may exceed the total.
func (b *bar) draw() {
	now := time.Now()
	if now.Sub(b.begun) < barDelay || now.Sub(b.drawn) < barInterval {
		return
	}
	b.drawn = now
	if b.bar == nil {
		title := shortenTitle(b.work.title)
		most := b.work.total
		if most <= 0 {
			most = -1 // draws a spinner
		}
		b.bar = progressbar.NewOptions64(most,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription(title),
			progressbar.OptionShowBytes(b.work.bytes),
			progressbar.OptionShowTotalBytes(most > 0),
			progressbar.OptionSetPredictTime(most > 0),
			progressbar.OptionSetWidth(20),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetSpinnerChangeInterval(0), // otherwise a goroutine draws the spinner, also after hide
		)
		if !b.work.bytes || utf8.RuneCountInString(title) <= titleRunes-countRunes {
			progressbar.OptionShowCount()(b.bar)
		}
	}
	done := b.done
	if most := b.work.total; most > 0 {
		done = min(done, most-1) // the last step would end the bar
	}
	_ = b.bar.Set64(done) // errors of drawing are ignored
}

// clear ends the work and removes its bar.
func (b *bar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	b.bar, b.begun = nil, time.Time{}
}

// hide removes the bar until it is drawn again, so that a line can be written.
func (b *bar) hide() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
}

func (b *bar) erase() {
	if b.bar != nil {
		_ = b.bar.Clear() // as above
	}
}

const (
	titleRunes = 28 // the space beside a bar with bytes per second in 80 columns
	countRunes = 16 // what "12 MB/345 MB, " takes of the space
)

// shortenTitle makes a title fit, by its end: there is the name of the file.
func shortenTitle(title string) string {
	r := []rune(explain.Name(title))
	if len(r) <= titleRunes {
		return string(r)
	}
	return "..." + string(r[len(r)-titleRunes+3:])
}
