package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Copy copies inputs to sink and shows the progress. It returns errors of the output, ready
// for the user; damage of inputs is reported and not returned.
func (j *Job) Copy(
	sink rosbag.Sink, title string, inputs Inputs, o rewrite.Options,
) (rewrite.Summary, error) {
	var list []rewrite.Input
	var total int64
	for _, s := range inputs {
		list = append(list, rewrite.Input{Name: s.Name, Source: s.Source, Scanner: s.Pipe})
		total += s.Size
	}
	o.Workers = Workers()
	o.Damaged = j.Damaged
	j.Bar.Set(Bytes(title, total), 0)
	sum, err := rewrite.Copy(list, o, sink)
	j.Bar.Clear()
	if j.Ctx.Err() != nil {
		err = j.Ctx.Err()
	}
	if err != nil && !errors.Is(err, ErrReported) {
		err = wording.Explain(err)
	}
	return sum, err
}

// Plan is what Rewrite does.
type Plan struct {
	Inputs Inputs
	// path; "-" for standard output
	Out string
	// starts the output in w, which has WriteAt and Sync unless it is standard output
	Sink func(w io.Writer) (rosbag.Sink, error)
	// Sink makes MCAP
	MCAP bool
	// write nothing, and do not say what is in the output
	DryRun bool
	// but for those of Copy
	Options rewrite.Options
	// may reject the result before it gets its name; nil accepts it. selected counts the messages, also
	// repeated ones
	Finish func(selected uint64) error
}

// Rewrite copies inputs into one output and says what is in it. The Summary is complete without an
// error, and with ErrLossy.
func (j *Job) Rewrite(p Plan) (sum rewrite.Summary, err error) {
	w, commit := io.Discard, func() error { return nil }
	switch {
	case p.DryRun:
	case p.Out != "-":
		j.RemoveLeftovers(filepath.Dir(p.Out))
		f, err := files.Create(p.Out, j.Force)
		if err != nil {
			return sum, j.Failed(p.Out, err)
		}
		defer f.Abort() // does nothing after commit
		w, commit = &untilDone{f.File, j.Ctx}, f.Commit
	case IsTerminal(j.Stdout):
		return sum, j.Failed(p.Out,
			errors.New("standard output is a terminal; redirect it to a file or a pipe"))
	default:
		w = struct{ io.Writer }{j.Stdout} // without WriteAt and Sync
	}
	sink, err := p.Sink(w)
	if err != nil {
		return sum, err
	}
	sum, err = j.Copy(sink, "Writing "+filepath.Base(p.Out), p.Inputs, p.Options)
	if err == nil && p.Finish != nil {
		if err = p.Finish(sum.Messages + sum.Repeated); err != nil {
			err = fmt.Errorf("not written: %w", err)
		}
	}
	if err == nil {
		err = commit()
	}
	if err != nil {
		return sum, j.Failed(p.Out, err)
	}
	j.SayDropped(p.Inputs)
	if p.DryRun {
		return sum, j.Done()
	}
	out := p.Out
	if out == "-" {
		out = "standard output"
	}
	for _, in := range p.Inputs {
		if in.Elapsed() {
			j.Say("%s: times count from the start of the recording, as in %s", wording.Shown(out),
				wording.Shown(in.Name))
		}
	}
	j.SayPlain(p.Inputs)
	if p.MCAP {
		j.sayDefinitions(out, p.Inputs)
	}
	j.Say("%s: %s%s%s%s", wording.Shown(out), wording.Plural(sum.Messages, "message"), Repeated(sum),
		leftOut(sum), p.misnamed())
	return sum, j.Done()
}

// untilDone is a file that is written until a context is done: completing a file takes long if it has
// tens of thousands of topics, and an interrupt is not to wait for that.
type untilDone struct {
	*os.File
	ctx context.Context //nolint:containedctx // an io.Writer has no other way to get it
}

// Write implements io.Writer.
func (u *untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.File.Write(p)
}

// Sync makes the file durable.
func (u *untilDone) Sync() error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	return u.File.Sync()
}

// misnamed says what the output is if its name ends as that of something else. Such a name is allowed, as
// stock allows it; but who writes to run.csv may expect CSV.
func (p *Plan) misnamed() string {
	what, want := "a bag", ".bag"
	if p.MCAP {
		what, want = "MCAP", ".mcap"
	}
	if ext := filepath.Ext(p.Out); ext != "" && ext != want {
		return fmt.Sprintf("; it is %s, although its name ends in %s; names of bags end in .bag, of MCAP files in .mcap",
			what, wording.Shown(ext))
	}
	return ""
}

// maxTold is how many extra records of one kind are named.
const maxTold = 10

// SayDropped names what MCAP files have beside messages and an output does not get.
func (j *Job) SayDropped(inputs Inputs) {
	for _, in := range inputs {
		m := in.MCAP()
		if m == nil {
			continue
		}
		for _, list := range []struct {
			what  string
			extra []rosbag.MCAPExtra
		}{{"attachment", m.Attachments}, {"metadata record", m.Metadata}} {
			for n, x := range list.extra {
				if n == maxTold {
					j.Say("%s: %s more are left out", wording.Shown(in.Name),
						wording.Plural(len(list.extra)-n, list.what))
					break
				}
				j.Say("%s: %s %q (%d bytes) is left out", wording.Shown(in.Name), list.what, x.Name, x.Bytes)
			}
		}
	}
}

// SayPlain says that what was made of encrypted inputs is not encrypted.
func (j *Job) SayPlain(inputs Inputs) {
	for _, in := range inputs {
		if in.Encrypted() {
			j.Say("%s: is encrypted; what was made of it is not", wording.Shown(in.Name))
		}
	}
}

// Repeated says how many latched messages come on top, if any.
func Repeated(sum rewrite.Summary) string {
	if sum.Repeated == 0 {
		return ""
	}
	return fmt.Sprintf(" and %s repeated", wording.Plural(sum.Repeated, "latched one"))
}

// leftOut says how many repeated messages are left out, if any.
func leftOut(sum rewrite.Summary) string {
	if sum.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("; %s left out, as others of the bags have them",
		wording.Plural(sum.LeftOut, "repeated latched message"))
}

// sayDefinitions says, of MCAP files, what readers of the output cannot decode, and which definitions are
// not those of the inputs. Readers of bags may know types by their md5sum.
func (j *Job) sayDefinitions(out string, inputs Inputs) {
	var types msgdef.Cache
	var unknown, replaced []string
	for _, in := range inputs {
		if in.Pipe != nil {
			continue
		}
		for _, c := range in.Connections() {
			switch t, err := types.Of(c); {
			case errors.Is(err, msgdef.ErrNoDefinition):
				unknown = append(unknown, c.Header.Type())
			case err == nil && t.Replaced != "":
				replaced = append(replaced,
					fmt.Sprintf("%s: %s: %s", wording.Shown(in.Name), wording.Shown(c.Topic), t.Replaced))
			}
		}
	}
	slices.Sort(replaced)
	for _, line := range slices.Compact(replaced) {
		j.Say("%s", line)
	}
	slices.Sort(unknown)
	if unknown = slices.Compact(unknown); len(unknown) > 0 {
		j.Say("%s: no reader can decode %s: the bag has no definition", wording.Shown(out),
			strings.Join(unknown, ", "))
	}
}
