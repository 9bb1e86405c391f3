package main

import (
	"errors"
	"fmt"
	"strings"

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
func report(console *term.Console, errs *program.Errors, s *settings, sum *control.Summary,
	sent *upload.Stats, nameTaken bool, err error,
) int {
	if !s.control.quiet && sum.Duration > 0 {
		text, jsonErr := summaryText(s, sum, sent)
		err = errors.Join(err, jsonErr)
		term.PrintTable(console, text)
	}
	code := program.ExitLoss
	switch {
	case errors.Is(err, recorder.ErrDiskHangs):
		code = program.ExitInternal
	case errors.Is(err, recorder.ErrMinSpace), errors.Is(err, recorder.ErrNotBegun):
	case err != nil && sum.Duration == 0:
		return errs.Fail(program.ExitUsage, err)
	}
	all := wrongs(s, sum, sent, nameTaken)
	switch text := strings.Join(all, "; ") + "; see the summary"; {
	case err != nil && len(all) > 0:
		return errs.Fail(code, errors.New(err.Error()+"; "+text))
	case err != nil:
		return errs.Fail(code, err)
	case len(all) > 0:
		return errs.Fail(code, errors.New(text))
	}
	return program.ExitOK
}

// wrongs says all that makes the exit code program.ExitLoss, but for errors.
func wrongs(s *settings, sum *control.Summary, sent *upload.Stats, nameTaken bool) (all []string) {
	if nameTaken {
		all = append(all,
			"the recording ended early: another node has registered with the name of this one; give each its own with __name:=")
	}
	if text := sum.Losses(); text != "" {
		all = append(all, text)
	}
	if sent.Lost > 0 {
		all = append(all, fmt.Sprintf("files were deleted before they were uploaded (%d)", sent.Lost))
	}
	if text := sum.Unmet(); text != "" {
		all = append(all, "expectations were not met: "+text)
	}
	if n := len(sum.Missing); s.selection.require && n > 0 {
		all = append(all, wording.Plural(n, "topic")+" never appeared")
	}
	return all
}
