package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/upload"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestReportNamesAllReasons: the last line has each reason for the exit code, not only the first.
func TestReportNamesAllReasons(t *testing.T) {
	t.Parallel()
	s := new(settings)
	s.control.quiet, s.selection.require = true, true
	sum := control.Summary{
		Topics:   []control.TopicSummary{{Topic: "/a", Dropped: map[string]uint64{"disk": 1}, Former: control.FormerPublishers{LinksLost: 4}}},
		Findings: []control.FindingSum{{Topic: "/imu", Kind: finding.Slow, Expected: true}},
		Missing:  []string{"/never"},
	}
	const all = "1 message was lost, links to publishers were lost (4); files were deleted before they were uploaded (2); expectations were not met: /imu (slow); 1 topic never appeared; see the summary\n"
	const taken = "the recording ended early: another node has registered with the name of this one; give each its own with __name:="
	for _, tc := range []struct {
		sum       control.Summary
		lost      int
		nameTaken bool
		err       error
		want      string
		code      int
	}{
		{sum: sum, lost: 2, want: "gorecord: " + all, code: 3},
		{sum: sum, lost: 2, nameTaken: true, want: "gorecord: " + taken + "; " + all, code: 3},
		{nameTaken: true, want: "gorecord: " + taken + "; see the summary\n", code: 3},
		{sum: control.Summary{Duration: 1, Missing: sum.Missing}, err: errors.New("the disk is full"), want: "gorecord: the disk is full; 1 topic never appeared; see the summary\n", code: 3},
		{},
	} {
		var text strings.Builder
		console := term.NewConsole(&text, false)
		code := report(console, &program.Errors{W: console, Name: name}, s, &tc.sum, &upload.Stats{Lost: tc.lost}, tc.nameTaken, tc.err)
		if err := console.Close(); err != nil {
			t.Fatal(err)
		}
		if text.String() != tc.want || code != tc.code {
			t.Errorf("%d, %q; want %d, %q", code, text.String(), tc.code, tc.want)
		}
	}
}
