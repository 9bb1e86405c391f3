// Package expect says what a good recording had, as the expectations of a configuration file.
package expect

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/gaps"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Write writes the expectations of a bag. Damage is an error: what a recording had is not known then.
func Write(ctx context.Context, path string, w io.Writer) error {
	b, err := bags.Open(ctx, path, bags.Options{})
	if err != nil {
		return err
	}
	defer b.Close() //nolint:errcheck // only read from
	report, err := gaps.Find(b.Source, gaps.Options{Damaged: func(err error) error { return err }})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, YAML(path, report))
	return err
}

// YAML returns the expectations as YAML. A tenth below the usual rate is no problem. Topics that came
// irregularly are only named: they may as well not come.
func YAML(path string, r *gaps.Report) string {
	text := "# What " + wording.Shown(path) +
		" had, less a tenth: the least rates in Hz. 0: the topic has to appear.\n" +
		"# Without topics, -a or all: true, gorecord records these topics only.\nexpect:\n"
	var irregular []string
	for _, u := range r.Usual {
		key := strconv.Quote(u.Topic)
		switch {
		case r.Latched[u.Topic]:
			text += "  " + key + ": 0 # latched\n"
		case u.Hz > 0:
			text += "  " + key + ": " + strconv.FormatFloat(leastRate(u.Hz), 'g', -1, 64) + "\n"
		case !slices.Contains([]string{note.MarksTopic, note.NotesTopic}, u.Topic):
			irregular = append(irregular, key)
		}
	}
	if len(irregular) > 0 {
		text += "# irregular, or too few messages: " + strings.Join(irregular, ", ") + "\n"
	}
	for i := range r.Episodes {
		text += fmt.Sprintf("# not good: %s %s\n", wording.Escape(r.Episodes[i].Topic), r.Episodes[i].Brief())
	}
	return text
}

// leastRate returns nine tenths of a rate, with two digits.
func leastRate(hz float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(hz*0.9))-1)
	return math.Round(math.Floor(hz*0.9/unit+1e-9)*unit*1e9) / 1e9
}
