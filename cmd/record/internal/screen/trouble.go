package screen

import (
	"fmt"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// troubles returns what is wrong with topics: how many topics there are of each kind, then one part for
// each. Every part fits into w columns.
func troubles(p termtext.Pen, s *control.Stats, w int) (parts []termtext.Part) {
	var numbers [finding.Kinds]int
	for i := range s.Findings {
		numbers[s.Findings[i].Kind]++
	}
	for kind, n := range numbers {
		if n > 0 {
			parts = append(parts, termtext.Problem(fmt.Sprintf("%d %v", n, finding.Kind(kind))))
		}
	}
	for i := range s.Findings {
		parts = append(parts, termtext.Red.Part(trouble(p, &s.Findings[i], w)))
	}
	return parts
}

// trouble returns the topic and what is wrong. Where there is no room, the cause is left out, then the
// beginning of the name.
func trouble(p termtext.Pen, f *finding.Finding, w int) string {
	name, text := termtext.Plain(f.Topic), f.Brief()
	if termtext.Width(name+" "+text) > w && f.Kind == finding.Silent {
		text = "silent for " + finding.About(f.For)
	}
	if left := w - termtext.Width(text) - 1; termtext.Width(name) > left {
		name = p.Clip(name, max(left, 1))
	}
	return name + " " + text
}
