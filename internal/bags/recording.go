package bags

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/gpg"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/definitions"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options say how a recording is opened. With the zero value encrypted bags are refused.
type Options struct {
	MaxChunkBytes int64 // as in bagfmt.ReaderOptions, as the next three
	UnwrapKey     func(rosbag.Encryption) (key []byte, err error)
	Cache         *bagfmt.Cache
	IndexOnly     bool

	// Foreign gives out the channels of an MCAP file that are neither of ROS 1 nor of ROS 2, too, for
	// those who do not look into messages. Otherwise they are left out, which is damage.
	Foreign bool

	// Plain leaves errors about what is in a file as errors.Is knows them, instead of explaining them.
	Plain bool

	// Interrupted is asked while the recording is opened and read; an error that it returns ends that.
	// Nil asks the context of Open.
	Interrupted func() error

	// Definitions has types of ROS 2 that a recording lacks; nil has none.
	Definitions definitions.User

	// Through returns what a file of size bytes is read through, to count what is read or to
	// interrupt reading; nil reads the file itself.
	Through func(f File, size int64) io.ReaderAt
}

// Recording is an open recording: a file, an object in a store, or a pipe.
type Recording struct {
	Name   string          // for messages; not escaped
	Source rosbag.Indexed  // nil for a pipe
	Pipe   *bagfmt.Scanner // nil for everything else
	Size   int64           // of the file in bytes; 0 for a pipe

	file io.Closer
}

// Open opens the recording at a path or URL. Its errors say what is wrong and what to do, but do not
// name the file. Damage of a recording is no error: Source.Info lists it. Reading ends with ctx.
func Open(ctx context.Context, path string, o Options) (*Recording, error) {
	if IsROS2Directory(ctx, path) || isPacked(path) {
		return o.openROS2(ctx, path)
	}
	f, size, err := OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	if isDatabase(path, f) {
		if err := f.Close(); err != nil {
			return nil, wording.Explain(err)
		}
		return o.openROS2(ctx, path)
	}
	var from io.ReaderAt = f
	if o.Through != nil {
		from = o.Through(f, size)
	}
	s, err := o.source(ctx, from, size)
	if err != nil {
		if !o.Plain {
			err = wording.Explain(err)
		}
		return nil, errors.Join(err, f.Close())
	}
	return &Recording{Name: path, Source: s, Size: size, file: f}, nil
}

// source opens the recording in a file. Here formats are distinguished: by the first bytes of the file,
// never by the end of its name. bagfmt reads bags and MCAP, and says what else it finds.
func (o *Options) source(ctx context.Context, from io.ReaderAt, size int64) (rosbag.Indexed, error) {
	r, err := o.reader(ctx, from, size, true)
	if err != nil {
		return nil, err // and no Reader that is nil
	}
	foreign, isROS2 := false, false
	for _, c := range r.Connections() {
		encoding, ok := c.Header.Get(rosbag.KeyMCAPEncoding)
		foreign, isROS2 = foreign || ok, isROS2 || encoding == "cdr"
	}
	switch {
	case foreign && !isROS2 && !o.Foreign: // the reader leaves out what is of neither, and reports that
		if r, err = o.reader(ctx, from, size, false); err != nil {
			return nil, err
		}
	case isROS2:
		return ros2.NewSource("", r,
			ros2.OpenOptions{MaxMessageBytes: o.maxMessageBytes(), Definitions: o.Definitions})
	}
	return r, nil
}

// reader opens what bagfmt reads, with the channels of MCAP that are not of ROS 1 if foreign is set.
func (o *Options) reader(
	ctx context.Context, from io.ReaderAt, size int64, foreign bool,
) (*bagfmt.Reader, error) {
	interrupted := o.Interrupted
	if interrupted == nil {
		interrupted = ctx.Err
	}
	return bagfmt.NewReader(from, size, bagfmt.ReaderOptions{
		MaxChunkBytes: o.MaxChunkBytes, FutureVersion: true, Interrupted: interrupted, UnwrapKey: o.UnwrapKey,
		Cache: o.Cache, IndexOnly: o.IndexOnly, KeepForeign: foreign,
	})
}

// OpenPipe opens the recording that comes from a pipe or another stream, which is read up to its end
// by Messages, once. A read that blocks ends with ctx or Close.
func OpenPipe(ctx context.Context, stream io.Reader, o Options) (*Recording, error) {
	r := interruptible(ctx, stream)
	s, err := bagfmt.NewScanner(r, bagfmt.ScannerOptions{
		MaxChunkBytes: o.MaxChunkBytes, FutureVersion: true, Reuse: true, Interrupted: ctx.Err,
		UnwrapKey: o.UnwrapKey,
	})
	if err != nil {
		return nil, errors.Join(wording.Explain(err), r.Close())
	}
	return &Recording{Name: "standard input", Pipe: s, file: &pipe{r, s}}, nil
}

// UnwrapKey asks gpg for the keys of encrypted bags. Asking ends with ctx.
func UnwrapKey(ctx context.Context) func(rosbag.Encryption) ([]byte, error) {
	return func(e rosbag.Encryption) ([]byte, error) { return gpg.Decrypt(ctx, e.WrappedKey) }
}

// Close closes the file, or ends the pipe.
func (r *Recording) Close() error { return r.file.Close() }

// Bag returns the reader of a bag or of an MCAP file, which knows their chunks; nil for a pipe and for
// other formats.
func (r *Recording) Bag() *bagfmt.Reader {
	b, _ := r.Source.(*bagfmt.Reader)
	return b
}

// MCAP returns what the recording has beside messages; nil if it is not of MCAP files, and of a pipe.
func (r *Recording) MCAP() *rosbag.MCAPInfo {
	if s, ok := r.Source.(interface{ MCAP() *rosbag.MCAPInfo }); ok {
		return s.MCAP()
	}
	return nil
}

// Messages returns what is wanted of the recording: of a file in time order, of a pipe in
// the order of the file. Each fault comes once, as an error beside a nil message.
func (r *Recording) Messages(q rosbag.Query) iter.Seq2[*rosbag.Message, error] {
	if r.Source != nil {
		return rosbag.Messages(r.Source, q)
	}
	return func(yield func(*rosbag.Message, error) bool) {
		for {
			m, err := r.Pipe.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil &&
				(m.Time.Before(q.Start) || q.End != rosbag.Time{} && q.End.Before(m.Time) ||
					!q.Keep(m.Conn)) {
				continue
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// Connections returns the connections of the recording, of a pipe those that it has come to.
func (r *Recording) Connections() []*rosbag.Connection {
	if r.Source != nil {
		return r.Source.Connections()
	}
	return r.Pipe.Connections()
}

// Topics returns the names of the topics of the recording, of a pipe those that it has come to.
func (r *Recording) Topics() []string {
	var all []string
	for _, c := range r.Connections() {
		all = append(all, c.Topic)
	}
	return all
}

// Elapsed reports whether times count from the start of the recording.
func (r *Recording) Elapsed() bool {
	if r.Source != nil {
		return r.Source.Info().Elapsed
	}
	return r.Pipe.Elapsed()
}

// Encrypted reports whether the recording is encrypted.
func (r *Recording) Encrypted() bool {
	if r.Pipe != nil {
		return r.Pipe.Encryption() != nil
	}
	b := r.Bag()
	return b != nil && b.Encryption() != nil
}

// pipe is a stream and its scanner.
type pipe struct {
	io.ReadCloser
	scanner *bagfmt.Scanner
}

// Close ends both: first the stream, which the scanner may be waiting for.
func (p *pipe) Close() error {
	err := p.ReadCloser.Close()
	p.scanner.Close()
	return err
}

// pipeBytes is the size of reads from a pipe.
const pipeBytes = 256 << 10

// interruptible returns a reader of r that ends with ctx or Close. A read that blocks then is
// abandoned; it ends with the process.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	pr, pw := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = pw.CloseWithError(ctx.Err()) }) // what reads return
	// owner: the command; ends with r, or with the first read after ctx or Close.
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{pw}, struct{ io.Reader }{r}, make([]byte, pipeBytes))
		_ = pw.CloseWithError(err) // never fails
		stop()
	}()
	return pr
}
