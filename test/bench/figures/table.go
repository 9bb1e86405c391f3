// Package figures holds what the measuring commands share: the table that they print, medians of
// ratios within pairs of runs, and the peak memory of a process. Only commands below test may use it.
package figures

import (
	"fmt"
	"io"
	"time"
)

// Table prints what was measured, a line for each target, as it comes.
type Table struct {
	w                io.Writer
	name             string // of the row, until its first line is out
	all, met, missed int    // targets
}

const tableLine = "%-34s %-34s %-66s %s\n"

// NewTable prints the head of a table on w.
func NewTable(w io.Writer) *Table {
	t := &Table{w: w, name: "load"}
	t.line("target", "measured", "verdict")
	return t
}

// Row begins a row; its name is on the first of its lines.
func (t *Table) Row(name string) { t.name = name }

// Target prints a line and counts its verdict.
func (t *Table) Target(met bool, target, measured string, args ...any) {
	t.all++
	verdict := "MISSED"
	if met {
		t.met++
		verdict = "ok"
	} else {
		t.missed++
	}
	t.line(target, fmt.Sprintf(measured, args...), verdict)
}

// Skip prints a target that could not be measured, and why.
func (t *Table) Skip(target, why string) {
	t.all++
	t.line(target, why, "not measured")
}

// Note prints what has no target.
func (t *Table) Note(measured string, args ...any) {
	t.line("", fmt.Sprintf(measured, args...), "")
}

// End prints how many targets were met, and after how long. A missed one is an error.
func (t *Table) End(took time.Duration) error {
	fmt.Fprintf(t.w, "\n%d targets: %d met, %d missed, %d not measured; %s\n", //nolint:errcheck // nothing else could be said
		t.all, t.met, t.missed, t.all-t.met-t.missed, took.Round(time.Second))
	if t.missed > 0 {
		return fmt.Errorf("%d targets are missed", t.missed)
	}
	return nil
}

func (t *Table) line(target, measured, verdict string) {
	fmt.Fprintf(t.w, tableLine, t.name, target, measured, verdict) //nolint:errcheck // nothing else could be said
	t.name = ""
}
