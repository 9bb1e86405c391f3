package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newfile"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/rebag"
	"github.com/gorosbag/gorosbag/internal/store"
	"github.com/gorosbag/gorosbag/rosbag"
)

type compressFlags struct {
	repackFlags
	BZ2 bool `short:"j" name:"bz2" help:"Use bz2 (default; MCAP files get zstd)."`
	LZ4 bool `name:"lz4" help:"Use lz4: larger, many times faster."`
}

// Help is the long help.
func (compressFlags) Help() string { return repackHelp }

// Run compresses bags.
func (f *compressFlags) Run(ctx context.Context, out bagjob.Output) error {
	if f.LZ4 && f.BZ2 {
		return errBothKinds
	}
	o := repackOptions{compression: rosbag.CompressionBZ2, mcap: rosbag.CompressionZstd}
	switch {
	case f.LZ4:
		o = repackOptions{compression: rosbag.CompressionLZ4, mcap: rosbag.CompressionLZ4}
	case f.BZ2:
		o.mcap = rosbag.CompressionBZ2 // which MCAP refuses
	}
	return f.repack(ctx, out, o)
}

var errBothKinds = errors.New("only one of --bz2 and --lz4 can be used")

// repackFlags are what compress, decompress and decrypt have in common.
type repackFlags struct {
	Force     bool     `short:"f" help:"Overwrite the backup, or with --output-dir the result of that name."`
	Quiet     bool     `short:"q" help:"Show no progress bar and no summary; damage and errors are told anyway."`
	OutputDir string   `name:"output-dir" placeholder:"DIR" completion-predictor:"dir" help:"Write to this directory and leave the input alone."`
	ChunkSize int      `name:"chunksize" default:"768" placeholder:"KiB" help:"Size of a chunk before compression (${default})."`
	Bags      []string `arg:"" name:"bag" completion-predictor:"bag" help:"Bags of any version; directories stand for the bags in them."`
}

const repackHelp = `Each bag is rewritten in place: NAME.bag becomes NAME.orig.bag and the new version
NAME.bag, when it is complete and on the disk. A bag that has such a backup already is
skipped. Connections stay as they are. An MCAP file stays one; attachments and metadata
records, which are named, are left out.`

// repackOptions say how the commands differ.
type repackOptions struct {
	compression rosbag.Compression // of bags; empty: that of the bag
	mcap        rosbag.Compression // of MCAP files; empty: zstd
	decrypt     bool               // encrypted bags, and no others, are wanted
	unindexed   bool               // bags without an index are replaced, too
	unchanged   func() error       // may keep the input from being replaced; nil does not
}

// repack rewrites bags. A bag that cannot be done does not keep the others from being done, but a
// name that is none, such as that of an option taken for one, keeps all from it: they are rewritten
// in place.
func (f *repackFlags) repack(ctx context.Context, out bagjob.Output, o repackOptions) error {
	j := bagjob.New(ctx, out, bagjob.Options{Force: f.Force, Quiet: f.Quiet})
	paths, err := bagopen.Names(ctx, f.Bags)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil && !store.IsURL(path) {
			return j.Failed(path, explain.Error(err))
		}
	}
	places := newfile.NewPlaces(paths, f.OutputDir, f.Force)
	var failed error
	for _, path := range paths {
		if err := f.one(j, places, path, o); err != nil {
			failed = j.Failed(path, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(failed, j.Done())
}

func (f *repackFlags) one(j *bagjob.Job, places *newfile.Places, path string, o repackOptions) error {
	b, err := j.Open(path)
	if err != nil {
		return err
	}
	in := bagjob.Inputs{b}
	defer in.Close()
	info, encrypted := b.Source.Info(), b.Encrypted()
	if o.decrypt && !encrypted {
		return errPlain
	}
	pack := packFlags{Compression: string(o.compression), ChunkSize: f.ChunkSize}
	bag := b.Bag()
	if bag == nil {
		return bagopen.ErrROS2
	}
	isMCAP := bag.MCAP() != nil
	if isMCAP {
		pack.Compression = string(o.mcap)
	}
	p, err := places.Place(path)
	if err != nil {
		return err
	}
	defer p.Abort()
	switch {
	case p.Backup() == "":
	case encrypted && !o.decrypt:
		return errEncrypted
	case !info.Indexed && !o.unindexed && (isMCAP || info.Version == "2.0"): // Perhaps it is being written: its recorder must not lose the file.
		advice := "; run gobag reindex on it, or use --output-dir"
		if encrypted {
			advice = "; use --output-dir"
		}
		return errors.New("is unindexed: it was not closed, or is still being recorded" + advice)
	}
	sink, err := pack.sink(in, isMCAP)(p.File)
	if err != nil {
		return err
	}
	sum, err := j.Copy(sink, "Writing "+filepath.Base(p.Path()), in, rebag.Options{})
	if err != nil {
		return err
	}
	if sum.Messages == 0 && j.Told(path) > 0 {
		return errors.New("no message can be read; it is left as it was")
	}
	after, err := p.Stat()
	if err != nil {
		return err
	}
	if o.unchanged != nil {
		if err := o.unchanged(); err != nil {
			return err
		}
	}
	if err := p.Commit(); err != nil {
		return err
	}
	original := ""
	if p.Backup() != "" {
		original = "; the original is " + explain.Name(p.Backup())
	}
	j.SayDropped(in)
	if !o.decrypt {
		j.SayPlain(in)
	}
	j.Say("%s: %s, %s -> %s%s", explain.Name(p.Path()), plural.Of(sum.Messages, "message"), humanize.IBytes(uint64(b.Size)), humanize.IBytes(uint64(after.Size())), original)
	return nil
}
