package fix

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/replace"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Job is one run.
type Job struct {
	In     string
	Out    string // MCAP if it ends in .mcap
	DryRun bool   // write nothing, but convert each message: only then it is known that all values fit

	Default bool // no wanted definitions were named: they are those that are installed

	Planner *Planner
}

// errUnreadable says that an output would be empty.
var errUnreadable = errors.New("no message can be read: nothing is written")

// errNothingKnown says that a run would change nothing because nothing of the recording is known.
var errNothingKnown = errors.New("no type of it is among the wanted definitions; for a type with another name there is --rename")

// errNoneInstalled says it where no definitions were named.
var errNoneInstalled = errors.New("no type of it is installed here: source the setup file of the workspace, or name the wanted definitions: " +
	"--to /opt/ros/noetic/share or the src folder of a workspace, --to another recording, or --to noetic; for a type with another name there is --rename")

// Run fixes a recording.
func (r *Job) Run(j *job.Job) error {
	in, err := bags.Open(j.Ctx, r.In,
		bags.Options{MaxChunkBytes: j.MaxChunk, UnwrapKey: bags.UnwrapKey(j.Ctx)})
	if err != nil {
		return j.Failed(r.In, err)
	}
	defer in.Close() //nolint:errcheck // only read from
	p := r.Planner
	for c, n := range counts(in.Source) {
		p.Add(c, n)
	}
	p.Misfit = func(err error) { j.Lost(r.In, err) }
	n := p.Count()
	switch {
	case len(p.list) > 0 && n[Unknown] == len(p.list):
		if r.Default {
			return j.Failed(r.In, errNoneInstalled)
		}
		return j.Failed(r.In, errNothingKnown)
	case n[Refused] > 0:
		if r.DryRun {
			if err := p.Print(j.Stdout, false); err != nil {
				return err
			}
			return job.ErrReported
		}
		return r.refuse(j)
	}
	if unused := p.o.Unused(); len(unused) > 0 {
		return fmt.Errorf("%s: no message of %s needs that; is it misspelt?", strings.Join(unused, ", "),
			wording.Shown(r.In))
	}
	err = r.write(j, in)
	if err != nil && !errors.Is(err, job.ErrLossy) {
		return err
	}
	report := j.Stderr
	if r.DryRun {
		report = j.Stdout
	}
	if r.DryRun || !j.Quiet {
		if err := p.Print(report, err != nil); err != nil {
			return err
		}
	}
	return err
}

// refuse reports each reason why nothing is written.
func (r *Job) refuse(j *job.Job) error {
	for _, i := range r.Planner.Items() {
		for _, reason := range i.Refusals() {
			j.Complain("%s: %s", wording.Shown(r.In), wording.Shown(reason))
		}
	}
	return j.Failed(r.In,
		errors.New("is not converted, and nothing is written; gobag fix --dry-run shows all that differs"))
}

// counts yields the connections of a recording with messages, and how many messages.
func counts(s rosbag.Indexed) func(yield func(*rosbag.Connection, uint64) bool) {
	n := make(map[*rosbag.Connection]uint64)
	for i := range s.NumSpans() {
		for _, c := range s.Span(i).Counts {
			n[c.Conn] += uint64(c.Count)
		}
	}
	return func(yield func(*rosbag.Connection, uint64) bool) {
		for _, c := range s.Connections() {
			if n[c] > 0 && !yield(c, n[c]) {
				return
			}
		}
	}
}

// write copies the recording. Of a plain bag of version 2.0, chunks without a message that changes stay
// as they are stored.
func (r *Job) write(j *job.Job, in *bags.Recording) error {
	mcap := strings.HasSuffix(r.Out, ".mcap")
	if bag := in.Bag(); bag != nil && bag.MCAP() == nil && !in.Encrypted() && !mcap {
		return r.copyChunks(j, in)
	}
	for _, damage := range in.Source.Info().Damage {
		if errors.Is(damage, rosbag.ErrUnindexed) {
			continue
		}
		if err := j.Damaged(r.In, damage); err != nil {
			return err
		}
	}
	inputs := job.Inputs{in}
	pack := job.Packing{}
	_, err := j.Rewrite(job.Plan{
		Inputs: inputs, Out: r.Out, MCAP: mcap, Sink: pack.Sink(inputs, mcap), DryRun: r.DryRun,
		Options: rewrite.Options{Edit: r.Planner.Edit},
	})
	return err
}

// copyChunks writes a bag of a bag, in the order of the file.
func (r *Job) copyChunks(j *job.Job, in *bags.Recording) error {
	file, size, err := bags.OpenFile(j.Ctx, r.In)
	if err != nil {
		return j.Failed(r.In, err)
	}
	defer file.Close() //nolint:errcheck // only read from
	w := io.Discard
	commit := func() error { return nil }
	if !r.DryRun {
		j.RemoveLeftovers(filepath.Dir(r.Out))
		f, err := files.Create(r.Out, j.Force)
		if err != nil {
			return j.Failed(r.Out, err)
		}
		defer f.Abort() // does nothing after commit
		w, commit = f.File, f.Commit
	}
	o, err := job.Packing{}.WriterOptions(job.Inputs{in})
	if err != nil {
		return err
	}
	report, err := replace.Recovered(j, file, size, w,
		replace.Recovery{Title: r.title(), Writer: o, Edit: r.Planner.Edit})
	if err != nil {
		return j.Failed(r.In, wording.Explain(err))
	}
	replace.Report(j, r.In, &report)
	if report.Messages == 0 && report.Lossy() {
		return j.Failed(r.In, errUnreadable)
	}
	if err := commit(); err != nil {
		return j.Failed(r.Out, err)
	}
	if !r.DryRun {
		j.Say("%s: %s; %d of %s as %s stored", wording.Shown(r.Out),
			wording.Plural(report.Messages, "message"), report.Copied, wording.Plural(report.Chunks, "chunk"),
			are(report.Copied))
	}
	return j.Done()
}

func are(n int) string {
	if n == 1 {
		return "it was"
	}
	return "they were"
}

func (r *Job) title() string {
	if r.DryRun {
		return "Reading " + filepath.Base(r.In)
	}
	return "Writing " + filepath.Base(r.Out)
}
