package keys

import (
	"fmt"
	"unicode/utf8"
)

// Key is a key: a character, or one of the keys that have none.
type Key rune

// Escape is the Esc key. Its byte also begins the sequences of keys without a character.
const Escape Key = 0x1b

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
