package recovery

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/search"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options limits what Recover does. The zero value is ready to use.
type Options struct {
	// largest compressed chunk, stored or unpacked; zero means 512 MiB, 2 GiB - 1 is the most
	MaxChunkBytes int64
	// Progress, if not nil, is called every few MiB with how far the input has been read.
	// If it returns an error, Recover stops and returns that error.
	Progress func(offset int64) error
	// Workers is the number of compressed chunks that are read ahead and unpacked, each on
	// its own goroutine, 16 at most; with zero Recover starts no goroutine. All of them have
	// ended when Recover returns. The result does not depend on Workers. The input must
	// allow parallel calls of ReadAt.
	Workers int
	// Edit, if not nil, returns how messages change; nil if they do not. Chunks in which nothing changes
	// stay as they are.
	Edit func(c *rosbag.Connection) *rosbag.Edit
}

// Recover copies everything intact in the bag of size bytes to w, which it does not
// close. The bag may have any version, and may be closed, unindexed, truncated or
// damaged; Recover only reads it. Intact chunks are copied as they are stored, wherever
// they are. From a chunk that is damaged or was never completed, Recover keeps the whole
// messages, unless a checksum of the chunk says that they may be wrong, and compresses
// them again as w does. It also compresses a chunk again if one of its connections needs
// a new id, because the id has two meanings: as in files with several bags, one after
// the other.
//
//   - A chunk is intact if its crc32c field, lz4 checksum or bz2 checksum matches.
//   - From a chunk without a checksum, as stock writes without compression, Recover keeps
//     every message whose record can be read.
//   - From a chunk that is truncated by the end of the file, Recover keeps the messages
//     before the end. They cannot be checked, but truncation changes no byte before it.
//     The same is true for whole lz4 blocks, which have no checksums; bz2 blocks have.
//   - From a chunk with a wrong checksum, Recover keeps nothing.
//
// The error says that the input is not a bag, that it is encrypted, or that the writer
// failed; everything else is in the Report. Memory is bounded by one chunk, stored and
// unpacked, or the longest message, plus what the Writer needs. Workers use at most 64 MiB
// more.
func Recover(r io.ReaderAt, size int64, w *bagfmt.Writer, o Options) (Report, error) {
	limit, err := wire.ChunkLimit(o.MaxChunkBytes)
	if err != nil {
		return Report{}, err
	}
	if o.Workers < 0 || o.Workers > wire.MaxWorkers {
		return Report{}, fmt.Errorf("option Workers is %d, want 0 to %d", o.Workers, wire.MaxWorkers)
	}
	var report Report
	in := newRecoverInput(r, size)
	out := newRecoverOutput(w, &report, o.Edit)
	progress := progressMeter{call: o.Progress}
	scanner, err := identify(in, out, limit)
	switch {
	case err != nil:
	case scanner != nil:
		err = convert(scanner, out, &progress)
	default:
		decoder := &chunkDecoder{
			report: &report, limit: limit,
			unpack:  codec.Decompressor{Interrupted: progress.unmoved},
			salvage: codec.Salvager{Interrupted: progress.unmoved},
		}
		if o.Workers > 0 {
			decoder.ahead = newRecoverAhead(r, size, o.Workers)
			defer decoder.ahead.queue.Close()
		}
		err = newRecoverWalker(in, out, decoder, &progress).walk()
	}
	out.reportOddTimes()
	return report, err
}

// identify determines the version of the file, and seeks to the first record. For a
// legacy version it returns the Scanner to read it with. It keeps what the bag header says about
// repeated messages. Where some of these are lost, readers may take others with the same
// time for them.
func identify(in *recoverInput, out *recoverOutput, limit int64) (*bagfmt.Scanner, error) {
	report := out.report
	version, h, err := in.s.Preamble(true)
	report.Version = version
	if err == nil {
		if about := wire.ParseEncryption(in.s.Header); about != nil {
			return nil, &rosbag.EncryptedError{Encryption: *about}
		}
	}
	in.seek(0)
	switch {
	case err == nil:
		out.w.SetRepeated(h.Repeats())
		return nil, nil // no Scanner is needed
	case strings.HasPrefix(version, "2.") && errors.Is(err, rosbag.ErrCorrupt):
		in.seek(int64(len(wire.VersionLine))) // the bag header is damaged
		return nil, nil
	}
	if in.bagHeaderAt(int64(len(wire.VersionLine))) {
		report.repair(wire.Corrupt(0, 0, "version line is damaged"))
		report.Version = "2.0"
		in.seek(int64(len(wire.VersionLine)))
		return nil, nil
	}
	s, scanErr := bagfmt.NewScanner(in.section(0), bagfmt.ScannerOptions{MaxChunkBytes: limit})
	if scanErr == nil && s.Version() != "0" { // a file of unknown format is taken for version 0
		report.Version = s.Version()
		return s, nil
	}
	if errors.Is(scanErr, rosbag.ErrNotBag) || errors.Is(scanErr, rosbag.ErrCorrupt) || scanErr == nil {
		if at, ok := search.Chunk(in.r, 0, in.size); ok {
			if at > 0 {
				report.skip(0, at, 0, wire.Corrupt(0, 0, "no version line"))
			}
			report.Version = "2.0"
			in.seek(at)
			return nil, nil
		}
	}
	if scanErr == nil {
		report.Version = s.Version()
	}
	return s, scanErr
}

// convert copies the messages of a bag of a legacy version.
func convert(s *bagfmt.Scanner, out *recoverOutput, progress *progressMeter) error {
	conns := make(map[*rosbag.Connection]*rosbag.Connection) // of the output, by that of the input
	for {
		m, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			var e *rosbag.CorruptError
			at := s.Offset()
			if errors.As(err, &e) {
				at = e.Offset
			}
			out.report.skip(at, 0, 0, err) // the Scanner does not return the length
			continue
		}
		c := conns[m.Conn]
		if c == nil {
			edited, use := out.edits.Begin(m.Conn)
			if c, err = out.w.AddConnection(m.Conn.Topic, edited.Header); err != nil {
				return fmt.Errorf("topic %q: %w", m.Conn.Topic, err)
			}
			conns[m.Conn] = c
			use(c)
		}
		if err := out.writeMessage(c, m.Time, m.Data(), s.Offset()); err != nil {
			return err
		}
		if err := progress.reached(s.Offset()); err != nil {
			return err
		}
	}
}

// progressMeter calls Options.Progress.
type progressMeter struct {
	call func(offset int64) error
	last int64 // offset of the last call
	err  error // of a call by unmoved
}

// unmoved calls it within a chunk, whose unpacking may take long. reached returns its error, too.
func (p *progressMeter) unmoved() error {
	if p.call != nil && p.err == nil {
		p.err = p.call(p.last)
	}
	return p.err
}

func (p *progressMeter) reached(off int64) error {
	const step = 4 << 20
	if p.err != nil {
		return p.err
	}
	if p.call == nil || off < p.last+step {
		return nil
	}
	p.last = off
	return p.call(off)
}
