package main

import (
	"bufio"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/info"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// sampledChunks is how many chunks of a bag in a store are looked at, with two requests each.
const sampledChunks = 7

type infoFlags struct {
	readOnly
	definitionsFlags

	YAML    bool     `short:"y" name:"yaml" xor:"form" help:"Print YAML."`
	Key     string   `short:"k" placeholder:"KEY" help:"With --yaml, only what is under this key: duration, topics, topics[0].type."`
	JSON    bool     `name:"json" xor:"form" help:"One line of JSON for each bag; includes frequencies."`
	Freq    bool     `help:"Show how often messages come: 1/median period of each topic. Reads the index of every chunk."`
	Exact   bool     `help:"Read every chunk of a bag in a store too, rather than estimate compression, rates and bytes from some of them."`
	Verbose bool     `short:"v" help:"Show also who published, which publishers are latching, bytes of each topic and where topics fell silent. Reads all messages."`
	Bags    []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version; directories, and URLs that end with a slash, stand for the bags in them."`
}

// Help is the long help.
func (infoFlags) Help() string {
	return `A bag without an index, of an old version or from a killed recording, is read from
front to back first. What is damaged is printed, and the exit code is 3.

Of a large bag in a store only the index and a few chunks are read: compression,
rates and bytes are then estimates, which --exact replaces by reading all chunks.`
}

// Run prints the summary of each bag. A bag that cannot be read does not keep the
// others from being shown.
func (f *infoFlags) Run(ctx context.Context, out job.Output) error {
	if f.Key != "" && !f.YAML {
		return errors.New("--key needs --yaml")
	}
	if f.Verbose && f.YAML {
		return errors.New("--yaml has no room for --verbose; take --json")
	}
	j := job.New(ctx, out, job.Options{})
	paths, err := bags.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	if j.Definitions, err = bags.Definitions(f.Definitions); err != nil {
		return err
	}
	j.Foreign = true
	failed := j.Each(ctx, "Reading bags", paths, func(j *job.Job, n int) error {
		summary, err := f.summarize(j, paths[n])
		if err != nil {
			return err
		}
		w := bufio.NewWriter(j.Stdout)
		if err := f.print(w, summary); err != nil {
			return err
		}
		if n < len(paths)-1 && !f.JSON {
			_, _ = w.WriteString("---\n") // a bufio.Writer keeps its error for Flush
		}
		return w.Flush()
	})
	if ctx.Err() != nil {
		return failed
	}
	if j.Lossy {
		fix := "gobag reindex"
		if slices.ContainsFunc(paths, func(p string) bool { return store.IsURL(p) || bags.IsROS2(ctx, p) }) {
			fix = "gobag convert"
		}
		j.Complain("gobag check shows more about damage, %s makes a sound bag of what is there", fix)
	}
	return errors.Join(failed, j.Done())
}

func (f *infoFlags) summarize(j *job.Job, path string) (summary *info.Info, err error) {
	b, err := j.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	shown := store.Redact(path)
	j.Bar.Set(job.Bytes("Reading "+filepath.Base(shown), b.Size), 0)
	sample := 0
	if store.Remote(path) && !f.Exact {
		sample = sampledChunks
	}
	return info.New(shown, b.Source, info.Options{
		Frequencies:      f.JSON || f.Freq,
		Details:          f.Verbose,
		EmptyConnections: f.JSON || f.Verbose,
		Sample:           sample,
		Workers:          job.Workers(),
		Damaged:          func(err error) error { return j.Damaged(path, err) },
	})
}

func (f *infoFlags) print(w *bufio.Writer, summary *info.Info) error {
	switch {
	case f.JSON:
		return summary.WriteJSON(w)
	case f.Key != "":
		return summary.WriteKey(w, f.Key)
	case f.YAML:
		return summary.WriteYAML(w)
	}
	err := summary.WriteText(w)
	if err == nil && f.Verbose {
		err = summary.WriteDetails(w)
	}
	return err
}
