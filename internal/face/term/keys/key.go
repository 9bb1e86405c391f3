package keys

import (
	"fmt"
	"unicode/utf8"
)

// Key is a key: a character, or one of the keys that have none.
type Key rune

// Keys that have a control character. The byte of Escape also begins the sequences of keys
// without a character.
const (
	Escape    Key = 0x1b
	Enter     Key = '\n' // a terminal turns the carriage return of the key into it
	Return    Key = '\r' // unless it does not
	Backspace Key = 0x7f
	CtrlH     Key = '\b' // the backspace of some terminals
	CtrlU     Key = 0x15 // deletes the line
)

// The keys without a character. Shift is recognized only for keys that have a constant with
// it. Combinations with Alt or Ctrl are ignored.
const (
	Up Key = utf8.MaxRune + 1 + iota
	Down
	Left
	Right
	ShiftLeft
	ShiftRight
	Home
	End
	PageUp
	PageDown
)

// String returns the usual name of the key.
func (k Key) String() string {
	switch k {
	case ' ':
		return "space"
	case Escape:
		return "Esc"
	case Enter, Return:
		return "Enter"
	case Backspace, CtrlH:
		return "Backspace"
	case CtrlU:
		return "Ctrl-U"
	case Up:
		return "up"
	case Down:
		return "down"
	case Left:
		return "left"
	case Right:
		return "right"
	case ShiftLeft:
		return "shift-left"
	case ShiftRight:
		return "shift-right"
	case Home:
		return "Home"
	case End:
		return "End"
	case PageUp:
		return "PgUp"
	case PageDown:
		return "PgDn"
	}
	if k > ' ' && k < 0x7f {
		return string(rune(k))
	}
	return fmt.Sprintf("key %#x", rune(k))
}
