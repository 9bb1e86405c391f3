//go:build linux

package main

import (
	"fmt"
	"io"
)

// table prints what was measured, a line for each target, as it comes.
type table struct {
	w                io.Writer
	name             string // of the row, until its first line is out
	all, met, missed int    // targets
}

const tableLine = "%-34s %-34s %-66s %s\n"

func newTable(w io.Writer) *table {
	t := &table{w: w, name: "load"}
	t.line("target", "measured", "verdict")
	return t
}

func (t *table) row(name string) { t.name = name }

// target prints a line and counts its verdict.
func (t *table) target(met bool, target, measured string, args ...any) {
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

// skip prints a target that could not be measured, and why.
func (t *table) skip(target, why string) {
	t.all++
	t.line(target, why, "not measured")
}

// note prints what has no target.
func (t *table) note(measured string, args ...any) {
	t.line("", fmt.Sprintf(measured, args...), "")
}

func (t *table) line(target, measured, verdict string) {
	fmt.Fprintf(t.w, tableLine, t.name, target, measured, verdict) //nolint:errcheck // nothing else could be said
	t.name = ""
}
