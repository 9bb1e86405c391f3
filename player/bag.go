package player

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Bag is a bag that is open for playing.
type Bag struct {
	name   string
	reader *bagfmt.Reader
	file   io.Closer
}

// OpenError says which bag could not be opened.
type OpenError struct {
	Bag string
	Err error
}

// Error implements error. For an unindexed bag the text is stock's.
func (e *OpenError) Error() string {
	if errors.Is(e.Err, bagfmt.ErrUnindexed) {
		return fmt.Sprintf("Bag file %s is unindexed.  Run rosbag reindex.", e.Bag)
	}
	var path *os.PathError
	if errors.As(e.Err, &path) {
		return fmt.Sprintf("Error opening file: %s: %v", e.Bag, path.Err)
	}
	return fmt.Sprintf("Error opening file: %s: %v", e.Bag, e.Err)
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// errNotRegular keeps play away from devices and from FIFOs, which would block.
var errNotRegular = errors.New("not a regular file")

// OpenBag opens the bag at path and reads its index section.
func OpenBag(path string) (*Bag, error) {
	// Before opening: the open of a FIFO waits for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, &OpenError{Bag: path, Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, &OpenError{Bag: path, Err: errNotRegular}
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file to play
	if err != nil {
		return nil, &OpenError{Bag: path, Err: err}
	}
	b, err := NewBag(path, f, info.Size())
	if err != nil {
		f.Close() //nolint:errcheck,gosec // only read from
		return nil, err
	}
	b.file = f
	return b, nil
}

// NewBag reads the index section of a bag of size bytes. name is for messages.
// The caller keeps r usable until Run has returned.
func NewBag(name string, r io.ReaderAt, size int64) (*Bag, error) {
	reader, err := bagfmt.NewReader(placedReader{r}, size, bagfmt.ReaderOptions{})
	if err != nil {
		return nil, &OpenError{Bag: name, Err: err}
	}
	return &Bag{name: name, reader: reader}, nil
}

// Name returns the name that the bag was opened by.
func (b *Bag) Name() string { return b.name }

// Close closes the file that OpenBag opened.
func (b *Bag) Close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}
