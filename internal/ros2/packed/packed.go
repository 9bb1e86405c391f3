// Package packed unpacks what rosbag2 has packed with zstd: whole files, with compression mode file, and
// the messages in them, with compression mode message.
//
// It owns the decoders and the temporary files. Package ros2 calls it for files by their names and for
// messages by their first bytes. It knows neither names of files nor formats.
package packed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/gorosbag/gorosbag/internal/files"
)

// maxWindow bounds the memory for what a packed file refers back to. rosbag2 and zstd -19 need 8 MiB.
const maxWindow = 128 << 20

// unpackedName names temporary files, see files.Create.
const unpackedName = "gorosbag-unpacked"

// fileMode is the permission of temporary files: the directory is for all users, the recording may not be.
const fileMode = 0o600

// File is a file that was unpacked into the directory for temporary files. Close removes it. What a
// process that was killed has left there, the next one removes.
type File struct {
	*files.File
	// Damage says why the packed file could not be unpacked to its end, nil if it could. The file has
	// what is before.
	Damage error
}

// open are the files that were not closed.
var open = struct {
	sync.Mutex
	files map[*File]bool
}{files: map[*File]bool{}}

// Unpack unpacks the file at path.
func Unpack(ctx context.Context, path string) (*File, error) {
	in, err := os.Open(path) //nolint:gosec // a file of the recording that the user names
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // only read from
	files.RemoveLeftovers(os.TempDir())
	out, err := files.Create(filepath.Join(os.TempDir(), unpackedName), true)
	if err != nil {
		return nil, err
	}
	f := &File{File: out}
	err = out.Chmod(fileMode)
	if err == nil {
		f.Damage, err = unpack(ctx, out, in)
	}
	if err != nil {
		out.Abort()
		return nil, err
	}
	open.Lock()
	defer open.Unlock()
	open.files[f] = true
	return f, nil
}

// Close removes the file. Who has opened it may go on reading.
func (f *File) Close() error {
	open.Lock()
	defer open.Unlock()
	delete(open.files, f)
	f.Abort()
	return nil
}

// RemoveAll removes all files that were not closed. It is for programs that end without closing recordings.
func RemoveAll() {
	open.Lock()
	defer open.Unlock()
	for f := range open.files {
		f.Abort()
	}
	clear(open.files)
}

// unpack unpacks in. damage says what is wrong with it after what was unpacked; if that is nothing,
// damage is err.
func unpack(ctx context.Context, out io.Writer, in io.Reader) (damage, err error) {
	d, err := zstd.NewReader(&reader{ctx, in}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	n, err := io.Copy(out, d)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, syscall.ENOSPC):
		return nil, fmt.Errorf("is packed, and %s has no room to unpack it: set TMPDIR to a directory with more room", os.TempDir())
	case err == nil:
		return nil, nil
	}
	if err = fmt.Errorf("cannot be unpacked: %w", err); n > 0 {
		return fmt.Errorf("%w: what is before is read", err), nil
	}
	return nil, err
}

// reader is a reader that ends with a context.
type reader struct {
	ctx context.Context //nolint:containedctx // a reader is one call of unpack, whose ctx this is
	r   io.Reader
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// magic begins what zstd has packed. A message of CDR never begins with it: its first byte is 0.
const magic = "\x28\xb5\x2f\xfd"

// IsMessage reports whether a message of CDR is packed.
func IsMessage(data []byte) bool {
	return len(data) >= len(magic) && string(data[:len(magic)]) == magic
}

// Of zstd: each block has at least 4 bytes and unpacks to at most 128 KiB.
const (
	leastBlockBytes = 4
	mostBlockBytes  = 128 << 10
)

// Decoder unpacks messages. Its zero value refuses all.
type Decoder struct {
	MaxBytes int // of a message
	zstd     *zstd.Decoder
	memory   []byte
}

// Unpack returns a message unpacked, in memory that the next call uses again.
func (d *Decoder) Unpack(data []byte) ([]byte, error) {
	if d.zstd == nil {
		var err error
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(max(d.MaxBytes, 1))))
		if err != nil {
			return nil, err
		}
	}
	var head zstd.Header // the decoder takes as much memory as it claims
	if most := uint64(len(data)/leastBlockBytes) * mostBlockBytes; head.Decode(data) == nil &&
		head.FrameContentSize > most {
		return nil, fmt.Errorf("cannot be unpacked: %d bytes hold at most %d bytes, not %d", len(data), most,
			head.FrameContentSize)
	}
	out, err := d.zstd.DecodeAll(data, d.memory[:0])
	if err != nil {
		return nil, fmt.Errorf("cannot be unpacked: %w", err)
	}
	d.memory = out
	return out, nil
}

// Close releases the memory of the decoder, which may be used again.
func (d *Decoder) Close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
	d.zstd, d.memory = nil, nil
}
