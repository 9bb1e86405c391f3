//go:build unix

package docs_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// cell is a place in a terminal.
type cell struct {
	char rune
	look look
}

// look is how a terminal shows characters.
type look struct {
	color     int // 0 to 15, -1 for the default
	bold, dim bool
}

// The measures and colors of a picture, in pixels of an SVG. Runs of characters get the width that
// they have in a terminal, whatever font a viewer has.
const (
	cellWidth, lineHeight, fontSize = 8.4, 19.0, 14
	margin, titleHeight             = 18.0, 38.0

	background, titleBar, foreground, dimmed = "#10151c", "#1b222c", "#d8dee6", "#8a95a3"
)

var palette = [16]string{
	"#4b5563", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d8dee6",
	"#8a95a3", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
}

// terminalSVG draws lines of a terminal, with their colors, as a window with a title.
func terminalSVG(t *testing.T, title string, lines []string) []byte {
	t.Helper()
	rows, columns := make([][]cell, len(lines)), 0
	last := look{color: -1}
	for i, line := range lines {
		var err error
		if rows[i], last, err = cells(line, last); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		columns = max(columns, len(rows[i]))
	}
	width, height := 2*margin+float64(columns)*cellWidth, titleHeight+2*margin+float64(len(rows))*lineHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%d">`+"\n", width, height, width, height, fontSize)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="10" fill="%s"/><path d="M0 %.0fV10a10 10 0 0 1 10-10h%.0fa10 10 0 0 1 10 10v%.0fz" fill="%s"/>`+"\n", background, titleHeight, width-20, titleHeight-10, titleBar)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%.0f" cy="%.0f" r="6" fill="%s"/>`, margin+2+float64(i)*20, titleHeight/2, color)
	}
	fmt.Fprintf(&b, "\n"+`<text x="%.0f" y="%.0f" fill="%s">$ %s</text>`+"\n", margin+70, titleHeight/2+5, foreground, escaped(title))
	for i, row := range rows {
		writeRow(&b, row, titleHeight+margin+float64(i)*lineHeight)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// writeRow draws runs of cells that look the same. Bars are drawn as boxes: in fonts they have
// gaps between them.
func writeRow(b *bytes.Buffer, row []cell, y float64) {
	for from := 0; from < len(row); {
		to := from + 1
		bar := barHeight(row[from].char)
		for ; to < len(row) && row[to].look == row[from].look && barHeight(row[to].char) == bar; to++ {
		}
		x, width := margin+float64(from)*cellWidth, float64(to-from)*cellWidth
		var text strings.Builder
		for _, c := range row[from:to] {
			text.WriteRune(c.char)
		}
		switch {
		case strings.TrimSpace(text.String()) == "":
		case bar > 0:
			h := bar * (lineHeight - 3)
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x, y+lineHeight-1-h, width, h, row[from].look.fill())
		default:
			weight := ""
			if row[from].look.bold {
				weight = ` font-weight="bold"`
			}
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" xml:space="preserve" fill="%s"%s>%s</text>`, x, y+lineHeight-5, width, row[from].look.fill(), weight, escaped(text.String()))
		}
		from = to
	}
	b.WriteString("\n")
}

// barHeight returns the part of the cell that a bar such as ▃ fills; 0 for other characters.
func barHeight(char rune) float64 {
	if char < '▁' || char > '█' {
		return 0
	}
	return float64(char-'▁'+1) / 8
}

func (l look) fill() string {
	switch {
	case l.color >= 0:
		return palette[l.color]
	case l.dim:
		return dimmed
	default:
		return foreground
	}
}

func escaped(text string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic("a buffer does not take " + text)
	}
	return b.String()
}

// cells returns the characters of a line as tmux prints it, and the look at its end, with which
// the next line begins.
func cells(line string, l look) ([]cell, look, error) {
	var row []cell
	for line != "" {
		codes, rest, ok := strings.Cut(strings.TrimPrefix(line, "\x1b["), "m")
		if !strings.HasPrefix(line, "\x1b[") {
			text, _, _ := strings.Cut(line, "\x1b")
			for _, char := range text {
				row = append(row, cell{char, l})
			}
			line = line[len(text):]
			continue
		}
		if !ok {
			return nil, l, fmt.Errorf("an unfinished escape sequence %q", line)
		}
		for code := range strings.SplitSeq(codes, ";") {
			if err := l.apply(code); err != nil {
				return nil, l, err
			}
		}
		line = rest
	}
	return row, l, nil
}

// apply changes the look as a code of the escape sequence for it says (SGR).
func (l *look) apply(code string) error {
	n := 0
	if code != "" {
		var err error
		if n, err = strconv.Atoi(code); err != nil {
			return err
		}
	}
	switch {
	case n == 0:
		*l = look{color: -1}
	case n == 1:
		l.bold = true
	case n == 2:
		l.dim = true
	case n == 22:
		l.bold, l.dim = false, false
	case n >= 30 && n <= 37:
		l.color = n - 30
	case n == 39:
		l.color = -1
	case n == 49: // no background, as always
	case n >= 90 && n <= 97:
		l.color = n - 90 + 8
	default:
		return fmt.Errorf("no picture for the code %d", n)
	}
	return nil
}

func TestTerminalSVG(t *testing.T) {
	t.Parallel()
	row, l, err := cells("\x1b[1mA\x1b[0m \x1b[2;31m<▃", look{color: -1})
	want := []cell{{'A', look{-1, true, false}}, {' ', look{-1, false, false}}, {'<', look{1, false, true}}, {'▃', look{1, false, true}}}
	if err != nil || len(row) != len(want) || l != want[3].look {
		t.Fatalf("%v, %v, %v", row, l, err)
	}
	for i := range want {
		if row[i] != want[i] {
			t.Errorf("cell %d: %v, want %v", i, row[i], want[i])
		}
	}
	for _, bad := range []string{"\x1b[1", "\x1b[48;5;3mA", "\x1b[xm"} {
		if _, _, err := cells(bad, look{}); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if got := textOf(t, terminalSVG(t, "a <b>", []string{"x & \x1b[32my", "z"})); !strings.Contains(got, "$ a <b>") || !strings.Contains(got, "x & ") || !strings.Contains(got, "y") {
		t.Errorf("the picture shows %q", got)
	}
}
