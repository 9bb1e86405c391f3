package term

import (
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
)

// Prompt takes a line of text from the keys. The zero value is closed.
type Prompt struct {
	mu    sync.Mutex
	label string // empty while it is closed
	text  []rune
	since time.Time
	enter func(text string, since time.Time)
}

// maxTyped bounds the bytes of a text.
const maxTyped = 1 << 10

// Ask opens the prompt: the keys that follow are text. The Enter key closes it and calls
// enter with the text, which may be empty, and the time of Ask; the Esc key only closes it.
func (p *Prompt) Ask(label string, enter func(text string, since time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label, p.enter, p.since, p.text = label, enter, time.Now(), p.text[:0]
}

// Open reports whether keys are text.
func (p *Prompt) Open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.label != ""
}

// Press adds a key to the text. It reports false while the prompt is closed.
func (p *Prompt) Press(key keys.Key) bool {
	p.mu.Lock()
	if p.label == "" {
		p.mu.Unlock()
		return false
	}
	done := func() {}
	switch key {
	case keys.Enter, keys.Return:
		text, since, enter := string(p.text), p.since, p.enter
		p.label, done = "", func() { enter(text, since) }
	case keys.Escape:
		p.label = ""
	case keys.Backspace, keys.CtrlH:
		p.text = p.text[:max(len(p.text)-1, 0)]
	case keys.CtrlU:
		p.text = p.text[:0]
	case keys.Up, keys.Down, keys.Left, keys.Right, keys.ShiftLeft, keys.ShiftRight, keys.Home, keys.End,
		keys.PageUp, keys.PageDown:
		// the text grows and shrinks at its end only
	default:
		if r := rune(key); r <= utf8.MaxRune && unicode.IsPrint(r) &&
			len(string(p.text))+utf8.RuneLen(r) <= maxTyped {
			p.text = append(p.text, r)
		}
	}
	p.mu.Unlock()
	done() // it may ask again
	return true
}

// Line returns the prompt with the text typed so far, at most w columns wide; empty while the prompt
// is closed. Of a long text the end is shown.
func (p *Prompt) Line(w int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.label == "" {
		return ""
	}
	return termtext.Tail(p.label+": "+string(p.text)+"_", w)
}
