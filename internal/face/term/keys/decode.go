package keys

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// A terminal sends the bytes of one key together. If nothing follows an escape byte for
	// this long, it is the Esc key.
	loneEscape = 100 * time.Millisecond
	// An incomplete sequence is discarded after this time.
	brokenOff = time.Second
	// More characters than this in one read were pasted, not typed, and are ignored, unless
	// they all are the same key, held down.
	mostTyped = 8
	// The longest sequence of a key has five parameter bytes.
	mostParams = 16
)

// state is the state of the decoder: the sequence that the next byte belongs to.
type state int

const (
	ground      state = iota
	afterEscape       // the next byte selects the sequence
	inControl         // CSI: parameters, then a final byte
	inShift           // SS3: digits, then one byte
	inLinux           // the Linux console's F1 to F5: one more byte
	inMouse           // three more bytes
	inString          // a response of the terminal, up to BEL or ST
	inRune            // a character of several bytes
)

// decoder decodes the bytes that a terminal sends into keys: those of xterm and compatible
// terminals, tmux, screen, rxvt and the Linux console. It ignores unknown sequences as a
// whole.
type decoder struct {
	typed bool        // the input is a terminal: large amounts are pasted
	text  func() bool // reports whether keys are text, which may be pasted; nil for never

	state  state
	params []byte // of the sequence, or the bytes of a character
	left   int    // bytes of inMouse
	alt    bool   // an escape came before the sequence
	paste  bool   // between the brackets of a paste
	flood  bool   // in a paste without brackets, which ends at a pause in the input
}

// read returns the keys of one read.
func (d *decoder) read(b []byte) []Key {
	var all []Key
	mixed, ended := false, false
	for _, c := range b {
		k, ok := d.next(c)
		switch {
		case !ok || d.paste && !d.inText():
			continue
		case ended: // a text of several lines was pasted: the others are no commands
			d.flood = d.typed && !d.paste
			continue
		}
		all = append(all, k)
		mixed = mixed || k != all[0]
		ended = (k == Enter || k == Return) && d.inText()
	}
	if d.typed && !d.inText() && (d.flood || mixed && len(all) > mostTyped) {
		d.flood = true
		return nil
	}
	return all
}

func (d *decoder) inText() bool { return d.text != nil && d.text() }

// timeout returns after how long without input quiet has to be called; zero means never.
func (d *decoder) timeout() time.Duration {
	switch {
	case d.paste || d.state > afterEscape:
		return brokenOff
	case d.flood || d.state == afterEscape:
		return loneEscape
	}
	return 0
}

// quiet ends an incomplete sequence or a paste.
func (d *decoder) quiet() []Key {
	lone := d.state == afterEscape && !d.paste && !d.flood
	*d = decoder{typed: d.typed, text: d.text, params: d.params[:0]}
	if lone {
		return []Key{Escape}
	}
	return nil
}

// next decodes one byte.
func (d *decoder) next(c byte) (Key, bool) {
	if c == byte(Escape) && d.state != inMouse {
		d.alt = d.state == afterEscape
		d.state = afterEscape
		return 0, false
	}
	switch d.state {
	case ground:
		return d.character(c)
	case inRune:
		return d.continued(c)
	case afterEscape:
		d.begin(c)
	case inControl:
		return d.control(c)
	case inShift:
		if c >= '0' && c <= '9' && len(d.params) < mostParams {
			d.params = append(d.params, c)
			return 0, false
		}
		d.state = ground
		if c >= 'a' { // the number pad, or rxvt with Ctrl
			return 0, false
		}
		return d.arrow(c, string(d.params))
	case inLinux:
		d.state = ground
	case inMouse:
		if d.left--; d.left == 0 {
			d.state = ground
		}
	case inString:
		if c == '\a' {
			d.state = ground
		}
	}
	return 0, false
}

// character returns the key of a byte, or begins a character of several.
func (d *decoder) character(c byte) (Key, bool) {
	if c < utf8.RuneSelf {
		return Key(c), true
	}
	if utf8.RuneStart(c) {
		d.state, d.params = inRune, append(d.params[:0], c)
	}
	return 0, false
}

// continued adds a byte to a character.
func (d *decoder) continued(c byte) (Key, bool) {
	if utf8.RuneStart(c) { // the one before was not complete
		d.state = ground
		return d.character(c)
	}
	d.params = append(d.params, c)
	if !utf8.FullRune(d.params) {
		return 0, false
	}
	d.state = ground
	r, _ := utf8.DecodeRune(d.params)
	return Key(r), r != utf8.RuneError
}

// begin starts the sequence that the byte after an escape selects.
func (d *decoder) begin(c byte) {
	d.params = d.params[:0]
	switch c {
	case '[':
		d.state = inControl
	case 'O':
		d.state = inShift
	case ']', 'P', 'X', '^', '_':
		d.state = inString
	default: // Alt and a key, or the end of a string
		d.state = ground
	}
}

// control continues a sequence of parameters and a final byte.
func (d *decoder) control(c byte) (Key, bool) {
	digits := len(d.params) > 0 && d.params[0] >= '0' && d.params[0] <= '9'
	switch {
	case c == '[' && len(d.params) == 0:
		d.state = inLinux
		return 0, false
	case c == '$' && digits: // rxvt ends sequences with the shift key like this
	case c >= ' ' && c < '@':
		if len(d.params) < mostParams {
			d.params = append(d.params, c)
		}
		return 0, false
	case c == 'M' && len(d.params) == 0:
		d.state, d.left = inMouse, 3
		return 0, false
	}
	d.state = ground
	params := string(d.params)
	if c != '~' {
		key, modifier, two := strings.Cut(params, ";")
		if two && key != "1" || !two && key != "" {
			return 0, false
		}
		return d.arrow(c, modifier)
	}
	switch params {
	case "200":
		d.paste = true
	case "201":
		d.paste = false
	}
	number, modifier, _ := strings.Cut(params, ";")
	key, ok := map[string]Key{"1": Home, "7": Home, "4": End, "8": End, "5": PageUp, "6": PageDown}[number]
	return key, ok && !d.alt && (modifier == "" || modifier == "1")
}

// arrow returns the key for a letter and a modifier.
func (d *decoder) arrow(letter byte, modifier string) (Key, bool) {
	key, ok := map[byte]Key{
		'A': Up, 'B': Down, 'C': Right, 'D': Left, 'H': Home, 'F': End,
		'c': ShiftRight, 'd': ShiftLeft, // rxvt
	}[letter]
	held, err := strconv.Atoi(modifier)
	if modifier == "" {
		held, err = 1, nil
	}
	const shift = 2
	switch {
	case !ok || d.alt || err != nil:
		return 0, false
	case held == shift && key == Left:
		return ShiftLeft, true
	case held == shift && key == Right:
		return ShiftRight, true
	}
	return key, held == 1
}
