package main

import (
	"io"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player/control"
)

// TestReportNamesAllReasons: the last line has each reason for the exit code, and says that not all was played only where
// that is so: with --keep-alive, another node may take the name after the last message.
func TestReportNamesAllReasons(t *testing.T) {
	t.Parallel()
	const taken, dropped = "another node has registered with the name of this one; give each its own with __name:=", "2 by full queues of slow subscribers (see --queue)"
	for _, tc := range []struct {
		sum       control.Summary
		nameTaken bool
		want      string
		code      int
	}{
		{sum: control.Summary{Dropped: 2}, want: "goplay: not all was played: " + dropped + "\n", code: 3},
		{sum: control.Summary{Interrupted: true}, nameTaken: true, want: "goplay: not all was played: " + taken + "\n", code: 3},
		{sum: control.Summary{Interrupted: true, Dropped: 2}, nameTaken: true, want: "goplay: not all was played: " + taken + "; " + dropped + "\n", code: 3},
		{nameTaken: true, want: "goplay: play ended early: " + taken + "\n", code: 3},
		{sum: control.Summary{Interrupted: true}},
	} {
		var text strings.Builder
		r := reporter{out: io.Discard, errs: &program.Errors{W: &text, Name: "goplay"}, quiet: true, nameTaken: tc.nameTaken}
		if code := r.report(&tc.sum, nil); text.String() != tc.want || code != tc.code {
			t.Errorf("%d, %q; want %d, %q", code, text.String(), tc.code, tc.want)
		}
	}
}
