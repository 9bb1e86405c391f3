package codec

import "io"

// Interruptible is the value of an option Interrupted; nil means that nobody interrupts.
type Interruptible func() error

// interruptionBytes is the number of unpacked bytes after which Interrupted is called again: bz2 takes
// up to 0.2 s for them.
const interruptionBytes = 4 << 20

// InterruptionError is an error that Interrupted returned. Its type distinguishes it from an error about
// the bag.
type InterruptionError struct{ Err error }

// Error implements error.
func (i *InterruptionError) Error() string { return i.Err.Error() }

// check returns an error if the work is interrupted.
func (f Interruptible) check() error {
	if f != nil {
		if err := f(); err != nil {
			return &InterruptionError{err}
		}
	}
	return nil
}

// Pause calls Interrupted each time that interruptionBytes more were searched.
type Pause struct {
	Interrupted Interruptible
	next        int // place of the next call
}

// Reached is called with the place that the search has reached.
func (p *Pause) Reached(at int) error {
	if p.Interrupted == nil || at < p.next {
		return nil
	}
	p.next = at + interruptionBytes
	return p.Interrupted()
}

// Reader returns r with a check before each interruptionBytes.
func (f Interruptible) Reader(r io.Reader) io.Reader {
	if f == nil {
		return r
	}
	return &interruptibleReader{f, r}
}

type interruptibleReader struct {
	interrupted Interruptible
	r           io.Reader
}

// Read implements io.Reader.
func (r *interruptibleReader) Read(p []byte) (int, error) {
	if err := r.interrupted.check(); err != nil {
		return 0, err
	}
	return r.r.Read(p[:min(len(p), interruptionBytes)])
}
