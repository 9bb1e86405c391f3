package main

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/cmd/record/internal/screen"
	"github.com/gorosbag/gorosbag/internal/cloud/upload"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// publishSummary publishes the summary on /rosout, losses first.
func publishSummary(out *rosout.Publisher, sum *control.Summary, err error) {
	level, text := zap.InfoLevel, "nothing was lost"
	if losses := sum.Losses(); losses != "" {
		level, text = zap.WarnLevel, losses
	}
	if err != nil {
		level, text = zap.ErrorLevel, err.Error()+"; "+text
	}
	if sum.Duration > 0 {
		text += "\n" + screen.Summary(sum)
	}
	program.PublishSummary(out, level, text)
}

// summaryText returns the summary as the log is: a table, or JSON.
func summaryText(s *settings, sum *control.Summary, sent *upload.Stats) (string, error) {
	if !s.Log.JSON() {
		return screen.Summary(sum) + uploadSummary(s.upload.to, sent), nil
	}
	var h *control.HandoverStats
	if s.upload.to != "" {
		h = handed(sent)
	}
	text, err := face.SummaryJSON(sum, h)
	return string(text), err
}

// report prints the summary and returns the exit code.
func report(console *term.Console, errs *program.Errors, s *settings, sum *control.Summary, sent *upload.Stats, err error) int {
	if !s.control.quiet && sum.Duration > 0 {
		text, jsonErr := summaryText(s, sum, sent)
		err = errors.Join(err, jsonErr)
		term.PrintTable(console, text)
	}
	switch {
	case errors.Is(err, recorder.ErrDiskHangs):
		return errs.Fail(program.ExitInternal, err)
	case errors.Is(err, recorder.ErrMinSpace), errors.Is(err, recorder.ErrNotBegun):
		return errs.Fail(program.ExitLoss, err)
	case err != nil && sum.Duration == 0:
		return errs.Fail(program.ExitUsage, err)
	case err != nil:
		return errs.Fail(program.ExitLoss, err)
	case sum.Losses() != "":
		return errs.Fail(program.ExitLoss, fmt.Errorf("%s; see the summary", sum.Losses()))
	case sent.Lost > 0:
		return errs.Fail(program.ExitLoss, fmt.Errorf("files were deleted before they were uploaded (%d)", sent.Lost))
	case sum.Unmet() != "":
		return errs.Fail(program.ExitLoss, fmt.Errorf("expectations were not met: %s; see the summary", sum.Unmet()))
	case s.selection.require && len(sum.Missing) > 0:
		return errs.Fail(program.ExitLoss, fmt.Errorf("%s never appeared; see the summary", wording.Plural(len(sum.Missing), "topic")))
	}
	return program.ExitOK
}
