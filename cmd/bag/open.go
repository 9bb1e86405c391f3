package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// bag is an open bag file of any version.
type bag struct {
	*bagfmt.Reader
	path string
	file *os.File
}

// Close closes the file.
func (b *bag) Close() error { return b.file.Close() }

// openBag opens a bag for reading. Its errors say what is wrong and what to do, but
// do not name the file. What is damaged in it Damage tells.
func openBag(path string) (*bag, error) {
	return openBagThrough(path, func(f *os.File, _ int64) io.ReaderAt { return f })
}

// openBagThrough reads the bag through what through makes of its file.
func openBagThrough(path string, through func(*os.File, int64) io.ReaderAt) (*bag, error) {
	st, err := os.Stat(path) // before opening: that would wait for the writer of a FIFO
	switch {
	case err != nil:
		return nil, explain(err)
	case st.IsDir():
		return nil, errors.New("is a directory; name the bag files in it")
	case !st.Mode().IsRegular():
		return nil, errors.New("is not a regular file; copy the bag to one")
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, explain(err)
	}
	if st, err = f.Stat(); err == nil {
		var r *bagfmt.Reader
		if r, err = bagfmt.NewReader(through(f, st.Size()), st.Size(), bagfmt.ReaderOptions{FutureVersion: true}); err == nil {
			return &bag{r, path, f}, nil
		}
		if errors.Is(err, bagfmt.ErrNotBag) && isMCAP(f) {
			err = errors.New("is an MCAP file; gobag reads bags only")
		}
	}
	return nil, errors.Join(explain(err), f.Close())
}

// isMCAP reports whether a file begins as MCAP does.
func isMCAP(f io.ReaderAt) bool {
	const magic = "\x89MCAP"
	b := make([]byte, len(magic))
	_, err := f.ReadAt(b, 0)
	return err == nil && string(b) == magic
}

// explain turns an error into one line for people: what is wrong, where, what to do.
func explain(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	text := strings.TrimPrefix(err.Error(), "bagfmt: ")
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errExists):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	case errors.Is(err, bagfmt.ErrVersion):
		return errors.New("is a " + text)
	case errors.Is(err, bagfmt.ErrEncrypted):
		return fmt.Errorf("%s; decrypt it with rosbag decrypt", text)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("truncated: " + strings.TrimSuffix(text, ": "+io.ErrUnexpectedEOF.Error()))
	case errors.Is(err, bagfmt.ErrCorrupt):
		return errors.New("damaged: " + text)
	}
	return errors.New(text)
}

// printable quotes a name that could control a terminal, or that nobody would see.
func printable(s string) string {
	if q := strconv.Quote(s); s == "" || q[1:len(q)-1] != s {
		return q
	}
	return s
}

// oneHarmlessLine makes a line of a text that may hold names from a bag: what could
// control a terminal is escaped.
func oneHarmlessLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n': // between joined errors
			b.WriteString("; ")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}
