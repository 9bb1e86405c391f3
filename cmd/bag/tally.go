package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// tally draws a progress bar for work on many bags, where meter draws one for a single bag. It
// draws on terminals only. It may be moved by several goroutines.
type tally struct {
	bytes bool // counts bytes, not bags

	mu    sync.Mutex
	w     io.Writer // nil: draw nothing
	bar   *progressbar.ProgressBar
	title string
	total int64
	begun time.Time
	drawn time.Time
}

// newTally draws on w if that is a terminal and quiet is not set.
func newTally(w io.Writer, quiet bool) *tally {
	if quiet || !isTerminal(w) {
		return &tally{}
	}
	return &tally{w: w}
}

// set tells how much is done; a total of 0 is one that is not known. Another title or total begins
// another bar.
func (t *tally) set(title string, done, total int64) {
	if t.w == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if title != t.title || total != t.total {
		t.erase()
		t.bar, t.title, t.total, t.begun = nil, title, total, now
	}
	if now.Sub(t.begun) < meterDelay || now.Sub(t.drawn) < meterInterval {
		return
	}
	t.drawn = now
	if t.bar == nil {
		most := int64(-1) // draws a spinner
		if total > 0 {
			most = total
		}
		t.bar = progressbar.NewOptions64(most,
			progressbar.OptionSetWriter(t.w),
			progressbar.OptionSetDescription(shortenTitle(title)),
			progressbar.OptionShowCount(),
			progressbar.OptionShowBytes(t.bytes),
			progressbar.OptionShowTotalBytes(t.bytes),
			progressbar.OptionSetPredictTime(total > 0),
			progressbar.OptionSetWidth(20),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true),
		)
	}
	if total > 0 {
		done = min(done, total-1) // the last step would end the bar
	}
	_ = t.bar.Set64(done) // errors of drawing are ignored
}

// hide removes the bar until it is drawn again, so that a line can be written.
func (t *tally) hide() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
}

func (t *tally) erase() {
	if t.bar != nil {
		_ = t.bar.Clear() // as above
	}
}
