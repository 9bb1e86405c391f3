package job

import (
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

const (
	barDelay    = 500 * time.Millisecond // shorter work shows no bar
	barInterval = 100 * time.Millisecond // between two updates
)

// Work is what a bar shows the progress of.
type Work struct {
	Title string
	Total int64 // 0 if it is not known
	Bytes bool  // Total is in bytes; otherwise in bags
}

// Bytes is work of total bytes, 0 if that is not known.
func Bytes(title string, total int64) Work { return Work{Title: title, Total: total, Bytes: true} }

// Bar draws a progress bar: percent, what is done, bytes per second and the time that is left.
// It draws on terminals only. Several goroutines may move it.
type Bar struct {
	mu    sync.Mutex
	w     io.Writer // nil: draw nothing
	off   bool      // count nothing any more
	bar   *progressbar.ProgressBar
	work  Work
	done  int64     // bytes or bags of work
	begun time.Time // zero if no work is running
	drawn time.Time
}

// Add counts what was done. If no work is running, it starts one; otherwise it ignores which work it is
// given.
func (b *Bar) Add(n int64, work Work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off {
		return
	}
	if b.begun.IsZero() {
		b.start(work)
	}
	b.done += n
	b.draw()
}

// Set sets how much of a piece of work is done. It starts the work, unless the same is running. Clear or
// another Set ends the work.
func (b *Bar) Set(work Work, done int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off {
		return
	}
	if b.begun.IsZero() || work != b.work {
		b.start(work)
	}
	b.done = done
	b.draw()
}

func (b *Bar) start(work Work) {
	b.erase()
	b.bar, b.work, b.done, b.begun = nil, work, 0, time.Now()
}

// draw draws the bar if it is time to. As a file may be read more than once, done may exceed the total.
func (b *Bar) draw() {
	now := time.Now()
	if b.w == nil || now.Sub(b.begun) < barDelay || now.Sub(b.drawn) < barInterval {
		return
	}
	b.drawn = now
	if b.bar == nil {
		title := shortenTitle(b.work.Title)
		most := b.work.Total
		if most <= 0 {
			most = -1 // draws a spinner
		}
		b.bar = progressbar.NewOptions64(most,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription(title),
			progressbar.OptionShowBytes(b.work.Bytes),
			progressbar.OptionShowTotalBytes(most > 0),
			progressbar.OptionSetPredictTime(most > 0),
			progressbar.OptionSetWidth(20),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true),
			// otherwise a goroutine draws the spinner, also after Hide
			progressbar.OptionSetSpinnerChangeInterval(0),
		)
		if !b.work.Bytes || utf8.RuneCountInString(title) <= titleRunes-countRunes {
			progressbar.OptionShowCount()(b.bar)
		}
	}
	done := b.done
	if most := b.work.Total; most > 0 {
		done = min(done, most-1) // the last step would end the bar
	}
	_ = b.bar.Set64(done) // errors of drawing are ignored
}

// Work returns the work that is running, and how much of it is done; ok is false if there is none.
func (b *Bar) Work() (work Work, done int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.work, b.done, !b.begun.IsZero()
}

// End ends the work, and no other work is shown any more.
func (b *Bar) End() {
	b.Clear()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = true
}

// Clear ends the work and removes its bar.
func (b *Bar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	b.bar, b.begun = nil, time.Time{}
}

// Hide removes the bar until it is drawn again, so that a line can be written.
func (b *Bar) Hide() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
}

func (b *Bar) erase() {
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
	r := []rune(wording.Shown(title))
	if len(r) <= titleRunes {
		return string(r)
	}
	return "..." + string(r[len(r)-titleRunes+3:])
}
