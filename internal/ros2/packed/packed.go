// Package packed unpacks what rosbag2 has packed with zstd: whole files, with compression mode file, and the messages
// in them, with compression mode message.
//
// It owns the decoders and the temporary files. Package ros2 puts it in front of its storage. It knows
// neither names of files nor formats.
package packed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxWindow bounds the memory for what a packed file refers back to. rosbag2 and zstd -19 need 8 MiB.
const maxWindow = 128 << 20

// unpackedName names temporary files, see files.Create.
const unpackedName = "gorosbag-unpacked"

// File is a file that was unpacked into the directory for temporary files. Close removes it. What a process that was
// killed has left there, the next one removes.
type File struct{ *files.File }

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
	if err := unpack(ctx, out, in); err != nil {
		out.Abort()
		return nil, err
	}
	f := &File{out}
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

func unpack(ctx context.Context, out io.Writer, in io.Reader) error {
	d, err := zstd.NewReader(&reader{ctx, in}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = io.Copy(out, d)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("is packed, and %s has no room to unpack it: set TMPDIR to a directory with more room", os.TempDir())
	case err != nil:
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	return nil
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

// Decoder unpacks messages. The zero value has no limit but that of zstd; it is ready for use.
type Decoder struct {
	MaxBytes int // of a message; zero means those of zstd
	zstd     *zstd.Decoder
}

// Unpack returns a message in memory of its own.
func (d *Decoder) Unpack(data []byte) ([]byte, error) {
	if d.zstd == nil {
		o := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
		if d.MaxBytes > 0 {
			o = append(o, zstd.WithDecoderMaxMemory(uint64(d.MaxBytes)))
		}
		var err error
		if d.zstd, err = zstd.NewReader(nil, o...); err != nil {
			return nil, err
		}
	}
	return d.zstd.DecodeAll(data, nil)
}

// Close releases the memory of the decoder.
func (d *Decoder) Close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// Storage is a file of a recording.
type Storage interface {
	rosbag.Indexed
	rosbag.Latest
}

// Messages presents a file whose messages are packed as one whose messages are not.
type Messages struct {
	Storage
	MaxBytes int // of a message
}

// Cursor implements rosbag.Source.
func (m *Messages) Cursor(q rosbag.Query) rosbag.Cursor {
	return &cursor{Cursor: m.Storage.Cursor(q), decoder: Decoder{MaxBytes: m.MaxBytes}}
}

// Latest implements rosbag.Latest.
func (m *Messages) Latest(t rosbag.Time, keep func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection, rosbag.Found] {
	return func(yield func(*rosbag.Connection, rosbag.Found) bool) {
		d := Decoder{MaxBytes: m.MaxBytes}
		defer d.Close()
		for c, found := range m.Storage.Latest(t, keep) {
			if found.Message != nil {
				var err error
				if found.Message, err = unpacked(&d, found.Message); err != nil {
					found.Message, found.Err = nil, err
				}
			}
			if !yield(c, found) {
				return
			}
		}
	}
}

// cursor unpacks the messages of another one.
type cursor struct {
	rosbag.Cursor
	decoder Decoder
}

// Next implements rosbag.Cursor.
func (c *cursor) Next() (*rosbag.Message, error) {
	m, err := c.Cursor.Next()
	if err != nil {
		return nil, err
	}
	return unpacked(&c.decoder, m)
}

// Close implements rosbag.Cursor.
func (c *cursor) Close() {
	c.Cursor.Close()
	c.decoder.Close()
	c.decoder = Decoder{}
}

// unpacked returns a copy of m with its data unpacked.
func unpacked(d *Decoder, m *rosbag.Message) (*rosbag.Message, error) {
	data, err := d.Unpack(m.Data())
	if err != nil {
		return nil, &rosbag.TopicError{Conn: m.Conn, Err: fmt.Errorf("message of %s: cannot be unpacked: %w", m.Time, err)}
	}
	out := *m
	out.Frame = append([]byte{byte(len(data)), byte(len(data) >> 8), byte(len(data) >> 16), byte(len(data) >> 24)}, data...)
	out.Share = len(out.Frame)
	return &out, nil
}
