package screen_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rivo/uniseg"
)

// fakeTerminal does what a terminal does with the little that a console writes. It
// knows no more, and notes what it does not know.
type fakeTerminal struct {
	mu            sync.Mutex
	width, height int
	cells         [][]string // a wide character is followed by an empty cell
	row, column   int
	wrap          bool // at the end of a line
	saved         [2]int
	above         []string
	odd           []string
	writes        int
	last          string // what was written
}

func newTerminal(width, height int) *fakeTerminal {
	t := &fakeTerminal{width: width, height: height, wrap: true}
	for range height {
		t.cells = append(t.cells, t.blank())
	}
	return t
}

func (t *fakeTerminal) blank() []string { return strings.Split(strings.Repeat(" ", t.width), "") }

func (t *fakeTerminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes++
	t.last = string(b)
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
func (t *fakeTerminal) control(s string) (rest string, ok bool) {
	switch {
	case s[0] == '\r':
		t.column = 0
		return s[1:], true
	case s[0] == '\n': // the line discipline adds the return
		t.column = 0
		t.down()
		return s[1:], true
	case strings.HasPrefix(s, "\x1b7"):
		t.saved = [2]int{t.row, t.column}
		return s[2:], true
	case strings.HasPrefix(s, "\x1b8"):
		t.row, t.column = t.saved[0], t.saved[1]
		return s[2:], true
	case !strings.HasPrefix(s, "\x1b["):
		return s, false
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
	n := 1
	fmt.Sscanf(s[2:end], "%d", &n)
	switch s[2 : end+1] {
	case "K":
		copy(t.cells[t.row][t.column:], t.blank())
	case "J":
		if t.row == 0 && t.column == 0 { // as tmux does it
			t.above = append(t.above, strings.TrimRight(strings.Join(t.cells[0], ""), " "))
		}
		copy(t.cells[t.row][t.column:], t.blank())
		for i := t.row + 1; i < t.height; i++ {
			t.cells[i] = t.blank()
		}
	case "?7l", "?7h":
		t.wrap = s[end] == 'h'
	default:
		switch s[end] {
		case 'A':
			t.row = max(0, t.row-n)
		case 'B':
			t.row = min(t.height-1, t.row+n)
		case 'C':
			t.column = min(t.width-1, t.column+n)
		case 'H':
			t.row, t.column = 0, 0
		case 'm':
		default:
			t.odd = append(t.odd, s[:end+1])
		}
	}
	return s[end+1:], true
}

func (t *fakeTerminal) put(cluster string, wide int) {
	if cluster[0] < ' ' || cluster == "\x7f" || cluster[0] == 0xc2 && cluster[1] < 0xa0 {
		t.odd = append(t.odd, cluster)
		return
	}
	if t.column+wide > t.width {
		if !t.wrap {
			t.odd = append(t.odd, "beyond the right side: "+cluster)
			return
		}
		t.column = 0
		t.down()
	}
	t.cells[t.row][t.column] = cluster
	for i := 1; i < wide; i++ {
		t.cells[t.row][t.column+i] = ""
	}
	t.column += wide
}

// count returns how many writes there were.
func (t *fakeTerminal) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

func (t *fakeTerminal) down() {
	if t.row < t.height-1 {
		t.row++
		return
	}
	t.above = append(t.above, strings.TrimRight(strings.Join(t.cells[0], ""), " "))
	t.cells = append(t.cells[1:], t.blank())
}

// shrink takes rows away: those below the cursor first, then those above.
func (t *fakeTerminal) shrink(height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.height = height
	t.cells = t.cells[:max(height, t.row+1)]
	for len(t.cells) > height {
		t.above = append(t.above, strings.TrimRight(strings.Join(t.cells[0], ""), " "))
		t.cells = t.cells[1:]
		t.row--
	}
}

// shown returns the screen without the scrollback.
func (t *fakeTerminal) shown() string {
	t.mu.Lock()
	above := len(t.above)
	t.mu.Unlock()
	return strings.Join(strings.Split(t.all(), "\n")[above:], "\n")
}

// all returns the scrollback and the screen, without the blank lines below.
func (t *fakeTerminal) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := append([]string(nil), t.above...)
	for _, row := range t.cells {
		lines = append(lines, strings.TrimRight(strings.Join(row, ""), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}
