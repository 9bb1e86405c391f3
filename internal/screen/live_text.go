package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// width is how many columns of a terminal s takes.
func width(s string) int { return uniseg.StringWidth(s) }

// head returns the longest start of s that is at most w columns wide.
func head(s string, w int) string {
	for rest, state := s, -1; rest != ""; {
		at := len(s) - len(rest)
		var wide int
		_, rest, wide, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if w -= wide; w < 0 {
			return s[:at]
		}
	}
	return s
}

// tail returns the longest end of s that is at most w columns wide.
func tail(s string, w int) string {
	for left := width(s); left > w; {
		_, rest, wide, _ := uniseg.FirstGraphemeClusterInString(s, -1)
		s, left = rest, left-wide
	}
	return s
}

// clip makes s at most w columns wide. It keeps the end, which tells topics and files apart, and
// begins with a whole part of a name where that costs no more than half of the room.
func (p pen) clip(s string, w int) string {
	gap := p.gap()
	switch {
	case w <= 0:
		return ""
	case width(s) <= w:
		return s
	case w <= 4:
		return tail(s, w)
	}
	end := tail(s, w-width(gap))
	if i := strings.IndexByte(end, '/'); i > 0 && 2*width(end[i:]) >= w {
		end = end[i:]
	}
	return gap + end
}

// cut makes s at most w columns wide. It keeps the start, where sentences say what they are about.
func (p pen) cut(s string, w int) string {
	if gap := p.gap(); width(s) > w && w > width(gap) {
		return head(s, w-width(gap)) + gap
	}
	return head(s, w)
}

// gap stands for what is left out.
func (p pen) gap() string {
	if p.ascii {
		return ".."
	}
	return "…"
}

// right returns s in w columns, at their right side.
func right(s string, w int) string {
	return strings.Repeat(" ", max(0, w-width(s))) + s
}

// style is how a text stands out, as the parameter of an SGR control sequence.
type style string

// What all terminals with colors have.
const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	yellow style = "33"
	cyan   style = "36"
)

// pen writes text for a terminal.
type pen struct {
	color bool // it has colors, and they are wanted
	ascii bool // it has no other characters
}

func (p pen) write(s string, as style) string {
	if !p.color || as == plain || s == "" {
		return s
	}
	return "\x1b[" + string(as) + "m" + s + "\x1b[m"
}

// part is one piece of a line.
type part struct {
	text string
	as   style
}

// part returns a piece of a line that stands out so.
func (as style) part(text string) part { return part{text, as} }

// parts returns several pieces that stand out so.
func (as style) parts(texts ...string) []part {
	all := make([]part, len(texts))
	for i, text := range texts {
		all[i] = as.part(text)
	}
	return all
}

// mark stands before a problem, which is to be seen without colors, too.
const mark = "!"

// problem is a part that says that something is lost, or about to be.
func problem(text string) part { return red.part(mark + " " + text) }

// warning is a part that says that something is not as it should be.
func warning(text string) part { return yellow.part(mark + " " + text) }

// flow puts parts into at most so many lines, w columns wide, and then as many of extra as
// fit into the last one. Parts without text, and those that find no room, are left out; not
// the first, which is clipped.
func (p pen) flow(parts []part, w, lines int, extra ...part) []string {
	const gap = "   "
	var all []string
	used := w // of the last line
	for i, next := range slices.Concat(parts, extra) {
		n := width(next.text)
		switch {
		case next.text == "":
		case used+len(gap)+n <= w:
			all[len(all)-1] += gap + p.write(next.text, next.as)
			used += len(gap) + n
		case i < len(parts) && len(all) < lines && (n <= w || len(all) == 0):
			text := p.cut(next.text, w)
			all = append(all, p.write(text, next.as))
			used = width(text)
		}
	}
	return all
}

// rule is the line between the log and the frame: the state, the first of the times that
// has room, and a name.
func (p pen) rule(w int, state string, as style, name string, times ...string) string {
	state = head(state, w)
	left, line := w-width(state), p.write(state, as)
	for _, t := range times {
		if n := width(t) + 2; n <= left {
			line += " " + t + " "
			left -= n
			break
		}
	}
	const frame = len("-  ")
	if name := p.clip(name, left-frame-1); width(name) > 4 {
		line += "- " + name + " "
		left -= width(name) + frame
	}
	return line + strings.Repeat("-", left)
}

// perSecond writes a rate of bytes, in at most nine columns, in the unit that fits.
func perSecond(bytes float64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	bytes, unit := max(0, bytes), 0
	for bytes >= 999.5 && unit < len(units)-1 { // 1000 KiB would take another column
		bytes /= 1024
		unit++
	}
	if unit > 0 && bytes < 9.95 {
		return fmt.Sprintf("%.1f %s/s", bytes, units[unit])
	}
	return fmt.Sprintf("%.0f %s/s", bytes, units[unit])
}

// short writes a number that is not negative in at most five columns.
func short(x float64) string {
	switch {
	case x > 0 && x < 0.0995:
		return fmt.Sprintf("%.3f", x)
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	case x < 99999.5:
		return fmt.Sprintf("%.0f", x)
	case x < 999.5e3:
		return fmt.Sprintf("%.0fk", x/1e3)
	case x < 99.95e6:
		return fmt.Sprintf("%.1fM", x/1e6)
	case x < 999.5e6:
		return fmt.Sprintf("%.0fM", x/1e6)
	}
	return fmt.Sprintf("%.3gG", x/1e9)
}

// rate leaves no doubt that nothing comes.
func rate(x float64) string {
	if x == 0 {
		return "-"
	}
	return short(x)
}

// dataRate leaves no doubt that nothing comes.
func dataRate(bytes float64) string {
	if bytes == 0 {
		return "-"
	}
	return perSecond(bytes)
}

// count writes a number in at most seven columns.
func count(n uint64) string {
	if n < 1e7 {
		return strconv.FormatUint(n, 10)
	}
	return short(float64(n))
}

// clock writes a duration as a clock does: 3:21, 1:02:03.
func clock(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// exact writes a duration as a clock does, with so many digits after the point.
func exact(d time.Duration, digits int) string {
	d = max(0, d)
	tenths := d % time.Second
	for range 9 - digits {
		tenths /= 10
	}
	return fmt.Sprintf("%s.%0*d", clock(d), digits, tenths)
}

// about writes a duration by its largest unit.
func about(d time.Duration) string {
	switch {
	case d < time.Second:
		return "<1 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// Unicode block characters and their ASCII replacements, from empty to full.
var (
	heights      = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	heightsASCII = []string{" ", ".", ":", "-", "=", "+", "*", "#", "@"}
)

// heights returns blocks from empty to full.
func (p pen) heights() []string {
	if p.ascii {
		return heightsASCII
	}
	return heights
}

// Plain returns s for a terminal: as it is, or quoted if it holds control characters, or bytes
// that are no UTF-8, which could otherwise drive the terminal.
func Plain(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
