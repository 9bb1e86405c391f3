package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player/control"
)

// With --quiet the error is the only line there is: it has to say what was lost.
func TestQuietReportSaysWhatWasLost(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	r := reporter{out: &out, errs: &program.Errors{W: &errs, Name: name}, quiet: true}
	code := r.report(&control.Summary{Dropped: 7, Undelivered: errors.New("/x did not take all")}, nil)
	if code != program.ExitLoss {
		t.Errorf("exit code %d, want %d", code, program.ExitLoss)
	}
	for _, want := range []string{"7 by full queues", "--queue", "/x did not take all"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q does not say %q", errs.String(), want)
		}
	}
	if out.Len() > 0 {
		t.Errorf("printed: %q", out.String())
	}
}
