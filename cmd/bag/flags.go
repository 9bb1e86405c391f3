package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/findings"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// readOnly is embedded in the flags of a command that writes no file which would have to be removed
// if it is not complete.
type readOnly struct{}

func (readOnly) readsOnly() {}

// Why a command that only reads ended early.
var (
	errStuck       = errors.New("interrupted, without waiting for the disk")
	errInterrupted = errors.New("interrupted")
)

func isReadOnly(command *kong.Node) bool {
	_, ok := command.Target.Addr().Interface().(interface{ readsOnly() })
	return ok
}

// definitionsFlags are the options of commands that read recordings of ROS 2 topic by topic.
type definitionsFlags struct {
	Definitions string `placeholder:"DIR" completion-predictor:"file" help:"Of a recording of ROS 2 without definitions: a directory with the .msg files of its types, such as a workspace. The types of ROS need none."`
}

// jobFlags are the options of every command that writes files.
type jobFlags struct {
	Force bool `short:"f" help:"Overwrite files that exist."`
	Quiet bool `short:"q" help:"Show no progress bar and no summary; damage and errors are printed anyway."`
}

// start starts the job of a command.
func (f jobFlags) start(ctx context.Context, out job.Output) *job.Job {
	return job.New(ctx, out, job.Options(f))
}

// packFlags are the options for compression and chunks of the output.
type packFlags struct {
	Compression string `enum:",none,lz4,bz2,zstd" default:"" placeholder:"KIND" help:"Compress chunks with none, lz4 or bz2; in MCAP with none, lz4 or zstd. Default: as the input, zstd in MCAP that is made of bags."`
	ChunkSize   *int   `name:"chunksize" placeholder:"KiB" help:"Size of a chunk before compression (768; MCAP that is made of MCAP keeps its chunks)."`
}

// packing translates the flags.
func (f packFlags) packing() job.Packing { return job.Packing(f) }

// wantsMCAP reports whether the output is to be MCAP: by the format that was asked
// for, or by the name.
func wantsMCAP(to, out string) bool {
	return to == "mcap" || to == "" && strings.HasSuffix(out, ".mcap")
}

// selectFlags say which messages are wanted.
type selectFlags struct{ query.Selection }

// latchedFlags say whether bags that begin in the middle of another repeat latched messages.
type latchedFlags struct {
	NoLatched bool `name:"no-latched" help:"Do not repeat the latest earlier message of each latching publisher at the beginning."`
}

// concerned returns the choice of connections whose damage is reported, nil for all. It does not look at
// --callerid: who published what cannot be read may be unknown.
func (f *selectFlags) concerned() (func(*rosbag.Connection) bool, error) {
	s := f.Selection
	s.CallerID = nil
	return s.Keep()
}

// choose returns the options by which what the user has selected of in is copied, by flags and by an
// expression, which may be empty. Names that are not recorded are reported before anything is written.
// finish is to be called after the last message: it reports what the expression came to.
func (f *selectFlags) choose(
	j *job.Job, in job.Inputs, expr string,
) (o rewrite.Options, finish func(uint64) error, err error) {
	for _, text := range f.GlobLike() {
		j.Complain("%s", text)
	}
	if o.Keep, err = f.Keep(); err != nil {
		return o, nil, err
	}
	if o.Rename, err = f.Renames(); err != nil {
		return o, nil, err
	}
	source := in[0].Source // nil for a pipe
	if len(in) > 1 {
		source = nil // times are those of no recording
	}
	if o.Start, o.End, err = f.Times(source); err != nil {
		return o, nil, err
	}
	if source != nil {
		for _, asked := range f.Unmatched(source) {
			j.Complain("%s: nothing there matches %s", wording.Shown(in[0].Name), asked)
		}
	}
	var x *query.Expression // nil without
	if expr != "" {
		if x, err = query.NewExpression(expr, func(err error) { j.Lost(in[0].Name, err) }); err != nil {
			return o, nil, err
		}
		o.Match, o.Within = x.Keep, x.Within
	}
	checkTopics := func() error {
		var recorded []string
		for _, r := range in {
			recorded = append(recorded, r.Topics()...)
			f.sayBothForms(j, r, x)
		}
		if x == nil {
			return nil
		}
		return reportFindings(j, x.CheckTopics(recorded))
	}
	// its topics are known at its end
	piped := slices.ContainsFunc(in, func(r *bags.Recording) bool { return r.Pipe != nil })
	if !piped {
		err = checkTopics()
	}
	return o, func(uint64) (err error) {
		if x != nil {
			var found query.Findings
			if found, err = x.Finish(in[0].Name); err == nil {
				err = reportFindings(j, found)
			}
		}
		if err == nil && piped {
			err = checkTopics()
		}
		return err
	}, err
}

// sayBothForms names the topics that the user has named and a recording has with a leading slash and
// without. x is nil without an expression.
func (f *selectFlags) sayBothForms(j *job.Job, r *bags.Recording, x *query.Expression) {
	both := f.BothForms(r.Topics())
	if x != nil {
		both = append(both, x.BothForms(r.Topics())...)
	}
	for _, topic := range both {
		j.Complain("%s: %v", wording.Shown(r.Name), query.BothFormsError(topic))
	}
}

// emptyFlags say whether a command that selects nothing fails.
type emptyFlags struct {
	AllowEmpty bool `name:"allow-empty" help:"If nothing is selected, succeed, and write an empty recording if one is to be written. Otherwise that is an error."`
}

// refuse returns an error if a command has selected no message of any input, unless that is allowed.
func (f emptyFlags) refuse(selected uint64, inputs ...*bags.Recording) error {
	if selected > 0 || f.AllowEmpty {
		return nil
	}
	var all []string
	for _, in := range inputs {
		what := wording.Shown(in.Name)
		if in.Source != nil {
			switch info := in.Source.Info(); {
			case info.Messages > 0:
				what += fmt.Sprintf(", which lasts %.1f s from @%s on", info.End.Sub(info.Start).Seconds(),
					info.Start)
			default:
				what += ", which has no messages"
			}
		}
		all = append(all, what)
	}
	return fmt.Errorf("nothing is selected of %s; --allow-empty allows that", strings.Join(all, ", nor of "))
}

// checkNotEnd returns an error if an argument is meant to be the end of a selection.
func checkNotEnd(isRegex bool, arg string) error {
	if !isRegex {
		return nil
	}
	if err := timearg.CheckNotEnd(arg); err != nil {
		return fmt.Errorf("%s: %w", wording.Shown(arg), err)
	}
	return nil
}

// reportFindings writes what the user should know of an expression. It returns an error if that is misspelt.
func reportFindings(j *job.Job, found query.Findings) error {
	for _, line := range found.Lines {
		j.Complain("%s", line)
	}
	if found.Misspelt {
		return job.ErrReported
	}
	return nil
}

// gapsFlags are the flags of gobag gaps.
type gapsFlags struct {
	readOnly
	findings.Flags
}
