package replace

import (
	"errors"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Packing says how bags are packed anew.
type Packing struct {
	Compression rosbag.Compression // of bags; empty: that of the bag
	MCAP        rosbag.Compression // of MCAP files; empty: that of the file
	ChunkKiB    *int               // size of a chunk before compression; nil: as in job.Packing
	Decrypt     bool               // decrypt; a bag that is not encrypted is an error
}

var (
	errPlain     = errors.New("is not encrypted; there is nothing to decrypt")
	errEncrypted = errors.New("is encrypted, and what would take its place is not; use gobag decrypt, or --output-dir")
	errNothing   = errors.New("no message can be read; it is left as it was")
)

// Repack packs bags anew. The new versions go to outputDir; if outputDir is empty, they take the place of the
// originals.
func Repack(j *job.Job, paths []string, outputDir string, p Packing) error {
	return each(j, paths, outputDir, func(r *run, path string) error { return r.repack(path, p, nil) })
}

// repack packs one bag anew. unchanged returns an error if the original was written to meanwhile. If
// unchanged is nil, an original without an index is not replaced.
func (r *run) repack(path string, p Packing, unchanged func() error) error {
	if store.IsURL(path) {
		return errors.New("is not a local file; gobag convert makes a local copy, with the --compression that you name")
	}
	j := r.j
	b, err := j.Open(path)
	if err != nil {
		return err
	}
	in := job.Inputs{b}
	defer in.Close()
	info, encrypted := b.Source.Info(), b.Encrypted()
	if p.Decrypt && !encrypted {
		return errPlain
	}
	pack := job.Packing{Compression: string(p.Compression), ChunkSize: p.ChunkKiB}
	bag := b.Bag()
	if bag == nil {
		return bags.ErrROS2
	}
	isMCAP := bag.MCAP() != nil
	if isMCAP {
		pack.Compression = string(p.MCAP)
	}
	to, err := r.places.Place(path)
	if err != nil {
		return err
	}
	defer to.Abort()
	switch {
	case to.Backup() == "":
	case encrypted && !p.Decrypt:
		return errEncrypted
	case !info.Indexed && unchanged == nil && (isMCAP || info.Version == "2.0"):
		// Perhaps it is being written: its recorder must not lose the file.
		advice := "; run gobag reindex on it, or use --output-dir"
		if encrypted {
			advice = "; use --output-dir"
		}
		return errors.New("is unindexed: it was not closed, or is still being recorded" + advice)
	}
	sink, err := pack.Sink(in, isMCAP)(to.File)
	if err != nil {
		return to.About(err)
	}
	sum, err := j.Copy(sink, "Writing "+filepath.Base(to.Path()), in, rewrite.Options{})
	switch {
	case j.Ctx.Err() != nil:
		return j.Ctx.Err()
	case err != nil:
		return to.About(err)
	}
	if sum.Messages == 0 && j.Reported(path) > 0 {
		return errNothing
	}
	after, err := to.Stat()
	if err != nil {
		return to.About(wording.Explain(err))
	}
	if unchanged != nil {
		if err := unchanged(); err != nil {
			return err
		}
	}
	if err := to.Commit(); err != nil {
		return err
	}
	j.SayDropped(in)
	if !p.Decrypt {
		j.SayPlain(in)
	}
	j.Say("%s: %s, %s -> %s%s", wording.Shown(to.Path()), wording.Plural(sum.Messages, "message"),
		humanize.IBytes(uint64(b.Size)), humanize.IBytes(uint64(after.Size())), original(to.Backup()))
	return nil
}

// original says where the original of a new version is; nothing if that stays as it was.
func original(backup string) string {
	if backup == "" {
		return ""
	}
	return "; the original is " + wording.Shown(backup)
}
