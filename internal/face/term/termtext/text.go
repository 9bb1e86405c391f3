// Package termtext formats text for terminals: its width in columns, its style, shortening where
// there is no room, and numbers in few columns. The package is pure.
package termtext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Width returns the number of columns of a terminal that s takes.
func Width(s string) int { return uniseg.StringWidth(s) }

// Head returns the longest start of s that is at most w columns wide.
func Head(s string, w int) string {
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

// Tail returns the longest end of s that is at most w columns wide.
func Tail(s string, w int) string {
	for left := Width(s); left > w; {
		_, rest, wide, _ := uniseg.FirstGraphemeClusterInString(s, -1)
		s, left = rest, left-wide
	}
	return s
}

// Clip shortens s to at most w columns. It keeps the end of s, because the ends of names tell topics
// and files apart, and begins with a whole part of the name if that costs at most half of the room.
func (p Pen) Clip(s string, w int) string {
	gap := p.gap()
	switch {
	case w <= 0:
		return ""
	case Width(s) <= w:
		return s
	case w <= 4:
		return Tail(s, w)
	}
	end := Tail(s, w-Width(gap))
	if i := strings.IndexByte(end, '/'); i > 0 && 2*Width(end[i:]) >= w {
		end = end[i:]
	}
	return gap + end
}

// cut makes s at most w columns wide. It keeps the start, where sentences say what they are about.
func (p Pen) cut(s string, w int) string {
	if gap := p.gap(); Width(s) > w && w > Width(gap) {
		return Head(s, w-Width(gap)) + gap
	}
	return Head(s, w)
}

// gap stands for what is left out.
func (p Pen) gap() string {
	if p.ASCII {
		return ".."
	}
	return "…"
}

// Right returns s in w columns, at their right side.
func Right(s string, w int) string {
	return strings.Repeat(" ", max(0, w-Width(s))) + s
}

// Style is the look of a text, as the parameter of an SGR control sequence.
type Style string

// Styles that all terminals with colors have.
const (
	Normal Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Pen writes text for a terminal.
type Pen struct {
	Color bool // the terminal has colors, and the user wants them
	ASCII bool // the terminal shows ASCII characters only
}

// Write returns s with the control sequences of a style.
func (p Pen) Write(s string, as Style) string {
	if !p.Color || as == Normal || s == "" {
		return s
	}
	return "\x1b[" + string(as) + "m" + s + "\x1b[m"
}

// Part is a piece of a line with its style.
type Part struct {
	text string
	as   Style
}

// Part returns a piece of a line in this style.
func (as Style) Part(text string) Part { return Part{text, as} }

// Parts returns several pieces of a line in this style.
func (as Style) Parts(texts ...string) []Part {
	all := make([]Part, len(texts))
	for i, text := range texts {
		all[i] = as.Part(text)
	}
	return all
}

// Sign stands before a problem, so that the problem shows without colors, too.
const Sign = "!"

// Problem is a part about messages that are lost, or about to be.
func Problem(text string) Part { return Red.Part(Sign + " " + text) }

// Warning is a part about a state that the user should know of.
func Warning(text string) Part { return Yellow.Part(Sign + " " + text) }

// Flow puts parts into lines of w columns, at most as many as lines says, and then as many of extra as
// fit into the last line. It leaves out parts without text, and parts for which there is no room; only
// the first part is clipped instead.
func (p Pen) Flow(parts []Part, w, lines int, extra ...Part) []string {
	const gap = "   "
	var all []string
	used := w // of the last line
	for i, next := range slices.Concat(parts, extra) {
		n := Width(next.text)
		switch {
		case next.text == "":
		case used+len(gap)+n <= w:
			all[len(all)-1] += gap + p.Write(next.text, next.as)
			used += len(gap) + n
		case i < len(parts) && len(all) < lines && (n <= w || len(all) == 0):
			text := p.cut(next.text, w)
			all = append(all, p.Write(text, next.as))
			used = Width(text)
		}
	}
	return all
}

// Rule returns the line between the log and the frame: the state, the first of the times for which there
// is room, and a name.
func (p Pen) Rule(w int, state string, as Style, name string, times ...string) string {
	state = Head(state, w)
	left, line := w-Width(state), p.Write(state, as)
	for _, t := range times {
		if n := Width(t) + 2; n <= left {
			line += " " + t + " "
			left -= n
			break
		}
	}
	const frame = len("-  ")
	if name := p.Clip(name, left-frame-1); Width(name) > 4 {
		line += "- " + name + " "
		left -= Width(name) + frame
	}
	return line + strings.Repeat("-", left)
}

// PerSecond writes a rate of bytes, in at most nine columns, in the unit that fits.
func PerSecond(bytes float64) string {
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

// Short writes a number that is not negative in at most five columns.
func Short(x float64) string {
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

// Rate writes a rate as Short does, and zero as a dash: zero is not to be taken for a small rate.
func Rate(x float64) string {
	if x == 0 {
		return "-"
	}
	return Short(x)
}

// DataRate writes a rate as PerSecond does, and zero as a dash.
func DataRate(bytes float64) string {
	if bytes == 0 {
		return "-"
	}
	return PerSecond(bytes)
}

// Count writes a number in at most seven columns.
func Count(n uint64) string {
	if n < 1e7 {
		return strconv.FormatUint(n, 10)
	}
	return Short(float64(n))
}

// Clock writes a duration as a clock does: 3:21, 1:02:03.
func Clock(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Exact writes a duration as a clock does, with digits digits after the point.
func Exact(d time.Duration, digits int) string {
	d = max(0, d)
	tenths := d % time.Second
	for range 9 - digits {
		tenths /= 10
	}
	return fmt.Sprintf("%s.%0*d", Clock(d), digits, tenths)
}

// About writes a duration by its largest unit.
func About(d time.Duration) string {
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

// Heights returns blocks from empty to full.
func (p Pen) Heights() []string {
	if p.ASCII {
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
