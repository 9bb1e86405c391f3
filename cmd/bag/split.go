package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

type splitFlags struct {
	jobFlags
	packFlags
	latchedFlags
	emptyFlags
	Size     string `placeholder:"SIZE" help:"A file ends when it has this size: 500M, 2G; without unit MiB."`
	Duration string `placeholder:"TIME" help:"Files begin at multiples of this from the first message: 90s, 5m, 1h; without unit seconds."`
	Topic    bool   `help:"Each topic has a file of its own."`
	In       string `arg:"" name:"in" completion-predictor:"bag" help:"Bag of any version; - is standard input."`
	Prefix   string `arg:"" name:"prefix" optional:"" completion-predictor:"file" help:"Beginning of the names, or a directory for them. Default: IN without .bag."`
}

// Help is the long help.
func (splitFlags) Help() string {
	return `Give --size, --duration or both, or --topic. The files are PREFIX_000.bag, PREFIX_001.bag and so on, by topic PREFIX_TOPIC.bag with _
for each / in the topic. A file without messages is not made. Files that are complete
when something fails stay.

Each file but the first begins with the latest earlier message of each latching
publisher, such as /map and /tf_static, at the time of the file's first message, so that
it can be played alone. Those that would take more than half of --size are left out, and
named. --no-latched leaves out all of them; files by --topic have none.`
}

// cut translates the flags.
func (f *splitFlags) cut() (rewrite.SplitRule, error) {
	c := rewrite.SplitRule{Topic: f.Topic, Latched: !f.NoLatched && !f.Topic}
	if others := f.Size != "" || f.Duration != ""; f.Topic == others {
		return c, errors.New("say where to split: --size, --duration or both, or --topic")
	}
	var err error
	if f.Size != "" {
		if c.Bytes, err = units.FileBytes(f.Size); err != nil {
			return c, fmt.Errorf("--size %s: %w", f.Size, err)
		}
	}
	if f.Duration != "" {
		if c.Duration, err = query.Duration(f.Duration); err != nil || c.Duration < time.Millisecond {
			return c, fmt.Errorf("--duration %s: write for example 90s, 5m or 1h", f.Duration)
		}
	}
	return c, nil
}

// Run splits one bag.
func (f *splitFlags) Run(ctx context.Context, out job.Output) error {
	j := f.start(ctx, out)
	cut, err := f.cut()
	if err != nil {
		return err
	}
	prefix, err := f.prefix()
	if err != nil {
		return err
	}
	if err := f.refuseExisting(prefix); err != nil {
		return err
	}
	in, err := j.OpenInputs([]string{f.In})
	if err != nil {
		return err
	}
	defer in.Close()
	wo, err := f.packing().WriterOptions(in)
	if err != nil {
		return err
	}
	if f.Topic {
		wo.Workers = 0 // one for each topic would be too many
	}
	j.RemoveLeftovers(filepath.Dir(prefix))
	files := &job.SplitFiles{Prefix: prefix, Input: f.In, Options: wo, Force: f.Force}
	defer files.Abort()
	split := rewrite.NewSplit(cut, files.Open)
	sum, err := j.Copy(split, "Splitting "+filepath.Base(f.In), in, rewrite.Options{})
	if err != nil {
		return j.Failed(prefix, err)
	}
	for _, topic := range split.NotRepeated() {
		j.Complain("%s: what is latched on %s is not repeated in each file: it would take more than half of --size", wording.Shown(f.In), wording.Shown(topic))
	}
	if err := f.refuse(sum.Messages, in[0]); err != nil {
		return err
	}
	sum.Repeated = split.Repeated()
	j.SayDropped(in)
	j.SayPlain(in)
	j.Say("%s: %s%s in %s", wording.Shown(f.In), wording.Plural(sum.Messages, "message"), job.Repeated(sum),
		wording.Plural(split.Count(), "file"))
	return j.Done()
}

// prefix returns what the names of all files of the split begin with.
func (f *splitFlags) prefix() (string, error) {
	if store.IsURL(f.Prefix) {
		return "", fmt.Errorf("%s: gobag split writes local files only: name a directory here, and upload the files with the tool of the store", wording.Shown(f.Prefix))
	}
	if f.Prefix != "" && !namesDir(f.Prefix) {
		return f.Prefix, nil
	}
	if f.In == "-" {
		return "", errors.New("standard input has no name; give a prefix for the files")
	}
	if store.IsURL(f.In) {
		if f.Prefix == "" {
			return "", errors.New("gobag split writes local files only: give a directory or prefix for the files, as in: gobag split --size 1G s3://bucket/run.bag ./parts/")
		}
		name := filepath.Base(store.Redact(f.In))
		return filepath.Join(f.Prefix, bags.Stem(name)), nil
	}
	own := bags.Stem(f.In)
	if f.Prefix == "" {
		return own, nil
	}
	return filepath.Join(f.Prefix, filepath.Base(own)), nil
}

// namesDir reports whether a path is that of a directory, or looks so.
func namesDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir() || os.IsPathSeparator(path[len(path)-1])
}

// refuseExisting refuses to mix new files with those of another run.
func (f *splitFlags) refuseExisting(prefix string) error {
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return fmt.Errorf("%s: %w", wording.Shown(filepath.Dir(prefix)), wording.Explain(err))
	}
	start := filepath.Base(prefix) + "_"
	for _, e := range entries {
		if name := e.Name(); !f.Force && strings.HasPrefix(name, start) && strings.HasSuffix(name, ".bag") {
			return fmt.Errorf("%s exists and could be taken for a file of this split; move it, choose another prefix, or use --force to overwrite files",
				wording.Shown(filepath.Join(filepath.Dir(prefix), name)))
		}
	}
	return nil
}
