package keys

import (
	"fmt"
	"unicode/utf8"
)

// Key is what a key press means: a character, or one of the keys that have none.
type Key rune

// Escape is the key that also begins what a terminal sends for keys without a character.
const Escape Key = 0x1b

// The keys without a character. A shift key counts only with those that have a constant
// for it; Alt and Ctrl with any of them make it another key that has no name here.
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

// String names the key as people call it.
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
