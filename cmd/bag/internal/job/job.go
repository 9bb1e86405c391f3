// Package job runs a command on bags: it shows the progress, reports damage while the work goes on,
// lets several bags be worked on at a time, and says with which exit code the command ends.
//
// A Job owns the progress bar and the number of damaged places of each file. The commands of gobag call it.
// It knows neither options nor what is done with a bag.
package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/ros2/definitions"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

var (
	// ErrReported says that every failure has its line on standard error already.
	ErrReported = errors.New("reported")
	// ErrLossy says that the work is done, but that input was damaged or something got
	// lost, which has been reported.
	ErrLossy = errors.New("lossy")
)

// Output is what a command is connected to.
type Output struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Errs           *program.Errors // to Stderr
	MaxChunk       int64           // chunks are unpacked to at most this many bytes
}

// NewOutput returns the output of the program gobag.
func NewOutput(stdin io.Reader, stdout, stderr io.Writer) Output {
	return Output{
		Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Errs: &program.Errors{W: stderr, Name: "gobag"},
	}
}

// to returns the output with other writers.
func (o Output) to(stdout, stderr io.Writer) Output {
	errs := *o.Errs
	errs.W = stderr
	o.Stdout, o.Stderr, o.Errs = stdout, stderr, &errs
	return o
}

// Complain writes one line about a failure.
func (o Output) Complain(format string, args ...any) {
	o.Errs.Print(fmt.Sprintf(format, args...))
}

// ExitCode prints the error of a command and returns the exit code of the program.
func (o Output) ExitCode(err error) int {
	switch {
	case err == nil:
		return program.ExitOK
	case errors.Is(err, ErrReported), errors.Is(err, syscall.EPIPE): // head has seen enough
		return program.ExitUsage
	case errors.Is(err, ErrLossy):
		return program.ExitLoss
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted; what was not complete is removed")
	}
	o.Complain("%v", err)
	return program.ExitUsage
}

// Options are what the user wants of every command that may take long.
type Options struct {
	Force bool // overwrite files that exist
	Quiet bool // show no progress bar and no summary; damage and errors are printed anyway
}

// Job is the run of a command that may take long: it can be interrupted, shows its progress,
// and records whether something was lost.
type Job struct {
	Output
	Options
	Ctx context.Context //nolint:containedctx // a job is one run of a command, whose context this is
	Bar *Bar
	// Wanted reports whether the user has selected the topic and the type of a connection: damage of other
	// topics is not reported. Nil wants all.
	Wanted func(*rosbag.Connection) bool
	// Definitions returns definitions of types that recordings of ROS 2 lack; nil knows none.
	Definitions definitions.User
	// Foreign wants channels of MCAP files that are of other programs, as in bags.Options.
	Foreign bool
	// Lossy says that something was lost, which is reported: Done returns ErrLossy. It is never reset.
	Lossy bool

	reported map[string]int // damage by path
}

// New starts a job.
func New(ctx context.Context, out Output, o Options) *Job {
	j := &Job{Output: out, Options: o, Ctx: ctx, Bar: &Bar{}, reported: make(map[string]int)}
	if !o.Quiet && IsTerminal(out.Stderr) {
		j.Bar.w = out.Stderr
	}
	return j
}

// Say writes a line about what was done to standard error, unless the user wants it quiet.
func (j *Job) Say(format string, args ...any) {
	if !j.Quiet {
		j.Bar.Clear()
		// there is nowhere else to report errors
		_, _ = fmt.Fprintln(j.Stderr, wording.EscapeLine(fmt.Sprintf(format, args...)))
	}
}

// MaxReported is the number of damaged places of a file that are reported one by one.
const MaxReported = 20

// Lost reports damage of a file. Done returns ErrLossy.
func (j *Job) Lost(path string, err error) {
	j.Lossy = true
	if j.reported[path]++; j.reported[path] <= MaxReported {
		j.Bar.Hide()
		j.Complain("%s: %v", wording.Shown(path), wording.Explain(err))
	}
}

// Damaged reports damage of a bag. It returns an error if the job was interrupted, and an error
// of a store, both of which end the work on the bag.
func (j *Job) Damaged(path string, err error) error {
	if j.Ctx.Err() != nil {
		return j.Ctx.Err()
	}
	if !rosbag.Concerns(err, j.Wanted) {
		return nil
	}
	// ADR 0074: an error of a store says nothing about the bag.
	if wording.IsStoreError(err) {
		return j.Failed(path, wording.Explain(err))
	}
	j.Lost(path, err)
	return nil
}

// Reported returns how many damaged places of a file were reported.
func (j *Job) Reported(path string) int { return j.reported[path] }

// Failed reports that a file could not be processed, and returns ErrReported. It reports neither
// interrupts nor closed pipes.
func (j *Job) Failed(path string, err error) error {
	j.Bar.Clear()
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrReported) || errors.Is(err, syscall.EPIPE) {
		return err
	}
	j.Complain("%s: %v", wording.Shown(path), err)
	return ErrReported
}

// Done ends the progress bar and returns ErrLossy if something was lost.
func (j *Job) Done() error {
	j.Bar.Clear()
	for _, path := range slices.Sorted(maps.Keys(j.reported)) {
		if more := j.reported[path] - MaxReported; more > 0 {
			j.Complain("%s: damaged in %s; gobag check lists them", wording.Shown(path),
				wording.Plural(more, "more place"))
		}
	}
	if j.Lossy {
		return ErrLossy
	}
	return nil
}

// RemoveLeftovers removes what runs that were killed have left in a directory, and says so.
func (j *Job) RemoveLeftovers(dir string) {
	for _, name := range files.RemoveLeftovers(dir) {
		j.Say("%s: removed %s, which a run that was killed has left", wording.Shown(dir), wording.Shown(name))
	}
}

// BesideBar returns a writer to standard error that hides the bar while a line is written. Several
// goroutines may use it.
func (j *Job) BesideBar() io.Writer { return &besideBar{bar: j.Bar, w: j.Stderr} }

type besideBar struct {
	bar *Bar
	mu  sync.Mutex
	w   io.Writer
}

// Write implements io.Writer.
func (b *besideBar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bar.Hide()
	return b.w.Write(p)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
