//go:build linux

package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/pierrec/lz4/v4"
	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/test/bench/child"
	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
)

// plainCopy measures the copy, and what the compressor of the scenario needs for the same
// bytes, if it has one.
func plainCopy(ctx context.Context, b *station.Bench, s scenario) (_ result, err error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	r, err := prepare(ctx, b, s.streams())
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, r.Remove()) }()
	mode := child.CopySynced
	if s.unsynced {
		mode = child.CopyUnsynced
	}
	file := filepath.Join(r.Dir, "stream")
	args := []string{child.CopyCommand, file, mode}
	for _, p := range r.flow.pubs {
		args = append(args, p.Address())
	}
	if err := r.Start(ctx, s.command(self, args...)...); err != nil {
		return result{}, err
	}
	if err := r.flow.send(ctx); err != nil {
		return result{}, err
	}
	use, err := r.Wait()
	took := time.Since(r.flow.begun)
	if err != nil {
		return result{}, err
	}
	st, err := os.Stat(file)
	if err != nil {
		return result{}, err
	}
	messages := s.topics * s.count
	if want := int64(messages) * int64(4+s.size); st.Size() != want {
		return result{}, fmt.Errorf("the plain copy has %d of %d bytes", st.Size(), want)
	}
	res := result{Usage: use, sent: messages, recorded: messages, bytes: int64(messages) * int64(s.size), took: took}
	res.packing, res.linked, err = s.pack(ctx, file, st.Size())
	return res, err
}

// chunkBytes is the size of a chunk by default, chunk.DefaultBytes.
const chunkBytes = 768 << 10

// packSample is how much of a stream is packed to measure a compressor.
const packSample = 64 << 20

// pack returns the processor time that compressors need for a file, estimated from its beginning: packing is
// that of the library that stock links, linked that of the Go library that gorecord links, for lz4 only. Both
// are zero if the scenario has no compressor, or if its program is not installed. The programs are Debian's,
// over the libraries that stock links, with the settings of our chunks. lz4 has a benchmark in memory; the time
// of bzip2 is nearly all packing.
func (s scenario) pack(ctx context.Context, file string, size int64) (packing, linked time.Duration, err error) {
	sample := min(size, packSample)
	if err := os.Truncate(file, sample); err != nil {
		return 0, 0, err
	}
	switch {
	case slices.Contains(s.args, "--lz4"):
		if packing, err = lz4Time(ctx, file, sample); err == nil {
			linked, err = linkedLZ4Time(file)
		}
	case slices.Contains(s.args, "--bz2"):
		cmd := exec.CommandContext(ctx, "bzip2", "-9", "-c", file)
		if err = cmd.Run(); err == nil {
			packing = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
	}
	if errors.Is(err, exec.ErrNotFound) {
		return 0, 0, nil // the lines do without
	}
	times := float64(size) / float64(sample)
	return time.Duration(float64(packing) * times), time.Duration(float64(linked) * times), err
}

// linkedLZ4Time returns the processor time that the Go library needs to pack a file, in frames of the size of a
// chunk with the options of bagfmt/internal/codec.
func linkedLZ4Time(file string) (time.Duration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	z := lz4.NewWriter(nil)
	if err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(true), lz4.ConcurrencyOption(1)); err != nil {
		return 0, err
	}
	var frame bytes.Buffer
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, err := threadTime()
	if err != nil {
		return 0, err
	}
	for piece := range slices.Chunk(data, chunkBytes) {
		frame.Reset()
		z.Reset(&frame)
		if _, err := z.Write(piece); err != nil {
			return 0, err
		}
		if err := z.Close(); err != nil {
			return 0, err
		}
	}
	end, err := threadTime()
	return end - start, err
}

// threadTime returns the processor time of this thread.
func threadTime() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// lz4Speed is what lz4 -b prints: megabytes a second, of packing and then of unpacking.
var lz4Speed = regexp.MustCompile(`([0-9.]+) MB/s`)

func lz4Time(ctx context.Context, file string, size int64) (time.Duration, error) {
	out, err := exec.CommandContext(ctx, "lz4", "-b1", "-B4", "-BI", "-i1", file).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("lz4: %w\n%s", err, out)
	}
	all := lz4Speed.FindAllSubmatch(out, -1)
	if len(all) < 2 {
		return 0, fmt.Errorf("lz4 -b prints no speed:\n%s", out)
	}
	speed, err := strconv.ParseFloat(string(all[len(all)-2][1]), 64)
	return time.Duration(float64(size) / speed * 1e3), err
}

// besideUnsynced is beside without waiting for the disk, and says how fast that is.
func (s scenario) besideUnsynced(ctx context.Context, b *station.Bench, t *figures.Table) error {
	speed, err := diskSpeed(b.Dir)
	if err != nil {
		return err
	}
	if err := s.beside(ctx, b, t); err != nil {
		return err
	}
	t.Note("the disk alone, fdatasync each %d MiB: %.0f MB/s", child.SyncBytes>>20, speed/1e6)
	return nil
}

// diskSpeed writes and syncs 32 MiB at a time, and returns bytes per second.
func diskSpeed(dir string) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "disk"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // in our temporary directory
	defer f.Close()           //nolint:errcheck // nothing in it is wanted
	block := make([]byte, child.SyncBytes)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range block {
		block[i] = byte(random.Uint32())
	}
	const blocks = 16
	start := time.Now()
	for range blocks {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := child.Durable(f); err != nil {
			return 0, err
		}
	}
	return blocks * child.SyncBytes / time.Since(start).Seconds(), nil
}
