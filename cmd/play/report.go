package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/play/internal/screen"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
)

// reporter prints the results.
type reporter struct {
	out   io.Writer
	errs  *program.Errors
	quiet bool

	endedBy   string // why another node or the master has ended play; empty if none has
	nameTaken bool   // because another node has the name
}

// publishSummary publishes the summary on /rosout, losses first.
func publishSummary(out *rosout.Publisher, sum *control.Summary, err error) {
	level, text := zap.InfoLevel, "lost: "+screen.Losses(sum)
	if sum.Lossy() {
		level = zap.WarnLevel
	}
	if err != nil {
		level, text = zap.ErrorLevel, err.Error()+"; "+text
	}
	program.PublishSummary(out, level, text+"\n"+screen.Summary(sum))
}

// report prints the summary and returns the exit code.
func (r *reporter) report(sum *control.Summary, err error) int {
	missing := (*player.NotInBagsError)(nil)
	switch {
	case errors.Is(err, player.ErrNoMessages):
		fmt.Fprintln(r.errs.W, "No messages to play on specified topics.  Exiting.") //nolint:errcheck // stock's text
		if errors.As(err, &missing) {
			return r.errs.Fail(program.ExitUsage, missing)
		}
		return program.ExitOK
	case err != nil:
		return r.errs.Fail(program.ExitUsage, withFlag(err))
	}
	if !r.quiet {
		r.print(screen.Summary(sum))
	}
	if r.endedBy != "" && !r.quiet {
		r.print("ended by another node or the master: " + termtext.Plain(r.endedBy) + "\n")
	}
	what, all := "not all was played: ", []string(nil)
	if r.nameTaken {
		if all = append(all,
			"another node has registered with the name of this one; give each its own with __name:="); !sum.Interrupted && !sum.Lossy() {
			what = "play ended early: " // after the last message, with --keep-alive
		}
	}
	if sum.Lossy() { // with what was lost: --quiet has no summary
		all = append(all, screen.Losses(sum))
	}
	if len(all) > 0 {
		return r.errs.Fail(program.ExitLoss, errors.New(what+strings.Join(all, "; ")))
	}
	return program.ExitOK
}

// withFlag names the flag in an error about an option of the player.
func withFlag(err error) error {
	var bad *control.OptionError
	if !errors.As(err, &bad) {
		return err
	}
	flag := upper().ReplaceAllStringFunc(bad.Option,
		func(letter string) string { return "-" + strings.ToLower(letter) })
	return fmt.Errorf("-%s %s", flag, bad.Reason)
}

var upper = lazyre.New("[A-Z]")

// bookmarks lists the bookmarks of play in a form that --start takes.
func (r *reporter) bookmarks(s control.Status, bags []*player.Bag) {
	if len(s.Bookmarks) == 0 {
		return
	}
	first, _, _ := player.Span(bags) // messages were played: there are some
	zero := s.BagTime.Add(-s.Position)
	r.print("bookmarks:\n")
	for _, at := range s.Bookmarks {
		stamp := zero.Add(at)
		r.print(fmt.Sprintf("  %s  --start %s\n", stamp, wording.DecimalDuration(stamp.Sub(first))))
	}
}

func (r *reporter) print(text string) {
	io.WriteString(r.out, text) //nolint:errcheck,gosec // a terminal that is gone must not end play
}
