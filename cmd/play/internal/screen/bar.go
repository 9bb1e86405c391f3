package screen

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/player/control"
)

// Unicode block characters and their ASCII replacements, from empty to full.
var (
	widths      = []string{"─", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"}
	widthsASCII = []string{"-", "-", "-", "-", ">", ">", ">", ">", "#"}
)

// densityRetry is the interval of requests for a density that is not known yet.
const densityRetry = time.Second

// bar draws the density of the messages and, below, the position of play.
func (v *View) bar(s *control.Stats, w, lines int) []string {
	switch lines {
	case 0:
		return nil
	case 1:
		return []string{v.ruler(&s.Status, w)}
	}
	return []string{v.hills(s, w), v.ruler(&s.Status, w)}
}

// hills draws the density. The part that has been played is brighter.
func (v *View) hills(s *control.Stats, w int) string {
	if len(v.density) != w && (v.density != nil || time.Since(v.asked) >= densityRetry) {
		v.density, v.asked = v.Control.Density(w), time.Now()
	}
	if len(v.density) != w {
		return ""
	}
	blocks := v.pen().Heights()
	top := float64(max(1, slices.Max(v.density)))
	var cells []string
	for _, n := range v.density {
		// Square root: a burst must not hide the rest.
		cells = append(cells, blocks[int(math.Ceil(math.Sqrt(float64(n)/top)*8))])
	}
	full, _ := place(s.Position, s.Length, w)
	p := v.pen()
	return p.Write(strings.Join(cells[:full], ""), termtext.Cyan) + p.Write(strings.Join(cells[full:], ""),
		termtext.Dim)
}

// place returns the number of columns of w that a position fills, and eighths of the next one.
func place(at, length time.Duration, w int) (full, eighths int) {
	if length <= 0 || at >= length {
		return w, 0
	}
	exact := max(0, float64(at)/float64(length)) * float64(w)
	full = min(int(exact), w-1)
	return full, min(7, int((exact-float64(full))*8))
}

// ruler draws the position of play, the recorded marks, the ends of the loop and the bookmarks.
func (v *View) ruler(s *control.Status, w int) string {
	blocks := widths
	if v.ASCII {
		blocks = widthsASCII
	}
	full, eighths := place(s.Position, s.Length, w)
	cells := slices.Concat(slices.Repeat(blocks[8:], full), slices.Repeat(blocks[:1], w-full))
	looks := slices.Concat(slices.Repeat([]termtext.Style{termtext.Cyan}, full),
		slices.Repeat([]termtext.Style{termtext.Dim}, w-full))
	if full < w {
		cells[full], looks[full] = blocks[max(1, eighths)], termtext.Cyan
	}
	put := func(at time.Duration, sign string) {
		i, _ := place(at, s.Length, w)
		i = min(i, w-1)
		cells[i], looks[i] = sign, termtext.Yellow
	}
	for _, m := range v.Marks {
		if at := s.PositionOf(m.Time); at >= 0 && at <= s.Length && !s.BagTime.IsZero() {
			put(at, "|")
		}
	}
	for _, at := range s.Bookmarks {
		put(at, "*")
	}
	if from, to, part := loopRange(s); part {
		put(from, "[")
		put(to, "]")
	}
	b := strings.Builder{}
	for i := 0; i < w; {
		j := i + 1
		for j < w && looks[j] == looks[i] {
			j++
		}
		b.WriteString(v.pen().Write(strings.Join(cells[i:j], ""), looks[i]))
		i = j
	}
	return b.String()
}
