// Package termtest has a terminal for tests, which shows what was drawn, and the files with the
// expected screens.
package termtest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rivo/uniseg"
)

// Terminal interprets the control sequences that a console writes. Sequences that it does not know
// are kept in Odd.
type Terminal struct {
	mu            sync.Mutex
	Width, Height int
	cells         [][]string // a wide character is followed by an empty cell
	Row, Column   int
	wrap          bool // at the end of a line
	saved         [2]int
	above         []string
	Odd           []string
	writes        int
	Last          string // text of the last write
}

// New returns an empty terminal.
func New(width, height int) *Terminal {
	t := &Terminal{Width: width, Height: height, wrap: true}
	for range height {
		t.cells = append(t.cells, t.blank())
	}
	return t
}

func (t *Terminal) blank() []string { return strings.Split(strings.Repeat(" ", t.Width), "") }

// Write implements io.Writer.
func (t *Terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes++
	t.Last = string(b)
	for s, state := string(b), -1; s != ""; {
		if rest, ok := t.control(s); ok {
			s, state = rest, -1
			continue
		}
		var cluster string
		var wide int
		cluster, s, wide, state = uniseg.FirstGraphemeClusterInString(s, state)
		t.put(cluster, wide)
	}
	return len(b), nil
}

// control does what one control character or sequence says, if s begins with one.
func (t *Terminal) control(s string) (rest string, ok bool) {
	switch {
	case s[0] == '\r':
		t.Column = 0
		return s[1:], true
	case s[0] == '\n': // the line discipline adds the return
		t.Column = 0
		t.down()
		return s[1:], true
	case strings.HasPrefix(s, "\x1b7"):
		t.saved = [2]int{t.Row, t.Column}
		return s[2:], true
	case strings.HasPrefix(s, "\x1b8"):
		t.Row, t.Column = t.saved[0], t.saved[1]
		return s[2:], true
	case !strings.HasPrefix(s, "\x1b["):
		return s, false
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
	n := 1
	fmt.Sscanf(s[2:end], "%d", &n) //nolint:errcheck,gosec // without a number it is 1
	switch s[2 : end+1] {
	case "K":
		copy(t.cells[t.Row][t.Column:], t.blank())
	case "J":
		if t.Row == 0 && t.Column == 0 { // as tmux does it
			t.above = append(t.above, strings.TrimRight(strings.Join(t.cells[0], ""), " "))
		}
		copy(t.cells[t.Row][t.Column:], t.blank())
		for i := t.Row + 1; i < t.Height; i++ {
			t.cells[i] = t.blank()
		}
	case "?7l", "?7h":
		t.wrap = s[end] == 'h'
	default:
		switch s[end] {
		case 'A':
			t.Row = max(0, t.Row-n)
		case 'B':
			t.Row = min(t.Height-1, t.Row+n)
		case 'C':
			t.Column = min(t.Width-1, t.Column+n)
		case 'H':
			t.Row, t.Column = 0, 0
		case 'm':
		default:
			t.Odd = append(t.Odd, s[:end+1])
		}
	}
	return s[end+1:], true
}

func (t *Terminal) put(cluster string, wide int) {
	if cluster[0] < ' ' || cluster == "\x7f" || cluster[0] == 0xc2 && cluster[1] < 0xa0 {
		t.Odd = append(t.Odd, cluster)
		return
	}
	if t.Column+wide > t.Width {
		if !t.wrap {
			t.Odd = append(t.Odd, "beyond the right side: "+cluster)
			return
		}
		t.Column = 0
		t.down()
	}
	t.cells[t.Row][t.Column] = cluster
	for i := 1; i < wide; i++ {
		t.cells[t.Row][t.Column+i] = ""
	}
	t.Column += wide
}

// Count returns how many writes there were.
func (t *Terminal) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

func (t *Terminal) down() {
	if t.Row < t.Height-1 {
		t.Row++
		return
	}
	t.above = append(t.above, strings.TrimRight(strings.Join(t.cells[0], ""), " "))
	t.cells = append(t.cells[1:], t.blank())
}

// Shrink takes rows away: those below the cursor first, then those above.
func (t *Terminal) Shrink(height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Height = height
	t.cells = t.cells[:max(height, t.Row+1)]
	for len(t.cells) > height {
		t.above = append(t.above, strings.TrimRight(strings.Join(t.cells[0], ""), " "))
		t.cells = t.cells[1:]
		t.Row--
	}
}

// Shown returns the screen without the scrollback.
func (t *Terminal) Shown() string {
	t.mu.Lock()
	above := len(t.above)
	t.mu.Unlock()
	return strings.Join(strings.Split(t.All(), "\n")[above:], "\n")
}

// All returns the scrollback and the screen, without the blank lines below.
func (t *Terminal) All() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := append([]string(nil), t.above...)
	for _, row := range t.cells {
		lines = append(lines, strings.TrimRight(strings.Join(row, ""), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}
