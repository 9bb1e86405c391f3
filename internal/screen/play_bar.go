package screen

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/player"
)

// Blocks of Unicode and what stands for them elsewhere: from nothing to all.
var (
	heights      = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	heightsASCII = []string{" ", ".", ":", "-", "=", "+", "*", "#", "@"}
	widths       = []string{"─", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"}
	widthsASCII  = []string{"-", "-", "-", "-", ">", ">", ">", ">", "#"}
)

// densityAgain is when a density that is not known yet is asked for again.
const densityAgain = time.Second

// bar draws how the messages lie in the bags and, below, where play is.
func (v *PlayView) bar(s *player.Stats, w, lines int) []string {
	switch lines {
	case 0:
		return nil
	case 1:
		return []string{v.ruler(&s.Status, w)}
	}
	return []string{v.hills(s, w), v.ruler(&s.Status, w)}
}

// hills draws the density. What has been played is brighter.
func (v *PlayView) hills(s *player.Stats, w int) string {
	if len(v.density) != w && (v.density != nil || time.Since(v.asked) >= densityAgain) {
		v.density, v.asked = v.Control.Density(w), time.Now()
	}
	if len(v.density) != w {
		return ""
	}
	blocks := heights
	if v.ASCII {
		blocks = heightsASCII
	}
	top := float64(max(1, slices.Max(v.density)))
	var cells []string
	for _, n := range v.density {
		// The root: beside a burst the rest is still to be seen.
		cells = append(cells, blocks[int(math.Ceil(math.Sqrt(float64(n)/top)*8))])
	}
	full, _ := place(s.Position, s.Length, w)
	p := v.pen()
	return p.write(strings.Join(cells[:full], ""), cyan) + p.write(strings.Join(cells[full:], ""), dim)
}

// place returns how many of w columns a position fills, and how many eighths of the next.
func place(at, length time.Duration, w int) (full, eighths int) {
	if length <= 0 || at >= length {
		return w, 0
	}
	exact := max(0, float64(at)/float64(length)) * float64(w)
	full = min(int(exact), w-1)
	return full, min(7, int((exact-float64(full))*8))
}

// ruler draws where play is, the marks and the bookmarks.
func (v *PlayView) ruler(s *player.Status, w int) string {
	blocks := widths
	if v.ASCII {
		blocks = widthsASCII
	}
	full, eighths := place(s.Position, s.Length, w)
	cells := slices.Concat(slices.Repeat(blocks[8:], full), slices.Repeat(blocks[:1], w-full))
	looks := slices.Concat(slices.Repeat([]style{cyan}, full), slices.Repeat([]style{dim}, w-full))
	if full < w {
		cells[full], looks[full] = blocks[max(1, eighths)], cyan
	}
	put := func(at time.Duration, sign string) {
		i, _ := place(at, s.Length, w)
		i = min(i, w-1)
		cells[i], looks[i] = sign, yellow
	}
	for _, at := range s.Bookmarks {
		put(at, "*")
	}
	if from, to, marked := marks(s); marked {
		put(from, "[")
		put(to, "]")
	}
	b := strings.Builder{}
	for i := 0; i < w; {
		j := i + 1
		for j < w && looks[j] == looks[i] {
			j++
		}
		b.WriteString(v.pen().write(strings.Join(cells[i:j], ""), looks[i]))
		i = j
	}
	return b.String()
}
