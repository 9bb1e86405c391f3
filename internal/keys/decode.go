package keys

import (
	"strconv"
	"strings"
	"time"
)

const (
	// A terminal sends the bytes of one key together. An escape that nothing follows
	// for this long is the key itself.
	loneEscape = 100 * time.Millisecond
	// What has begun and does not end is given up after this time.
	brokenOff = time.Second
	// More characters than this in one read were not typed but pasted: they must not
	// act. One key that is held down does.
	mostTyped = 8
	// The longest sequence of a key has five parameter bytes.
	mostParams = 16
)

// state is what the next byte belongs to.
type state int

const (
	ground      state = iota
	afterEscape       // of anything
	inControl         // CSI: parameters, then a final byte
	inShift           // SS3: digits, then one byte
	inLinux           // the Linux console's F1 to F5: one more byte
	inMouse           // three more bytes
	inString          // an answer of the terminal, up to BEL or ST
)

// decoder makes keys of the bytes that a terminal sends: those of xterm and what follows
// it, of tmux and screen, of rxvt and of the Linux console. What it does not know means
// nothing, as a whole.
type decoder struct {
	typed bool // by a person: large amounts are pasted

	state  state
	params []byte // of the sequence
	left   int    // bytes of inMouse
	alt    bool   // an escape came before the sequence
	paste  bool   // between the brackets of a paste
	flood  bool   // a paste without brackets goes on until a silence
}

// read returns the keys of one read.
func (d *decoder) read(b []byte) []Key {
	var all []Key
	mixed := false
	for _, c := range b {
		k, ok := d.next(c)
		if !ok || d.paste {
			continue
		}
		all = append(all, k)
		mixed = mixed || k != all[0]
	}
	if d.typed && (d.flood || mixed && len(all) > mostTyped) {
		d.flood = true
		return nil
	}
	return all
}

// patience returns after how long a silence quiet is to be called; zero means never.
func (d *decoder) patience() time.Duration {
	switch {
	case d.paste || d.state > afterEscape:
		return brokenOff
	case d.flood || d.state == afterEscape:
		return loneEscape
	}
	return 0
}

// quiet ends what has been waiting for more.
func (d *decoder) quiet() []Key {
	lone := d.state == afterEscape && !d.paste && !d.flood
	*d = decoder{typed: d.typed, params: d.params[:0]}
	if lone {
		return []Key{Escape}
	}
	return nil
}

// next takes one byte.
func (d *decoder) next(c byte) (Key, bool) {
	if c == byte(Escape) && d.state != inMouse {
		d.alt = d.state == afterEscape
		d.state = afterEscape
		return 0, false
	}
	switch d.state {
	case ground:
		return Key(c), c < 0x80 // what is beyond ASCII is a part of a character that is no key
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

// begin finds out what an escape has begun.
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

// control goes on with a sequence of parameters and a final byte.
func (d *decoder) control(c byte) (Key, bool) {
	digits := len(d.params) > 0 && d.params[0] >= '0' && d.params[0] <= '9'
	switch {
	case c == '[' && len(d.params) == 0:
		d.state = inLinux
		return 0, false
	case c == '$' && digits: // rxvt ends so what the shift key is held with
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

// arrow returns the key that a letter and a modifier mean.
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
