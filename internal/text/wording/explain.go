// This file makes the errors of bags, files and stores readable for people: what is wrong
// and what to do, in one line, and never a name or a URL that could control a terminal or that
// holds a secret.
//
// It owns texts only. Everything that talks to the user of a tool on bags may call it.

package wording

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
)

// storeError is an error of a store: place.Error.
type storeError interface {
	error
	MessageWithoutPlace() string
}

// Redact returns a URL without user, password and parameters, which may contain a signature,
// so that it can be shown and logged. Other texts are returned unchanged.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, tail, slash := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if slash {
		tail = "/" + tail
	}
	return scheme + "://" + host + tail
}

// Explain turns an error of a file, a store or a bag into one line: what is wrong, where, what to do.
// The line does not name the file. Explain(Explain(err)) is Explain(err). Other errors, and those of a
// canceled context, are returned as they are.
func Explain(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	var remote storeError
	var limit *rosbag.LimitError
	text := err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &remote):
		return errors.New(remote.MessageWithoutPlace())
	case errors.As(err, &limit) && limit.Op == rosbag.OpChunk:
		return errors.New(text + "; a larger --max-chunk unpacks it")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	case errors.Is(err, rosbag.ErrVersion):
		return errors.New("is a " + text)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("truncated: " + strings.TrimSuffix(text, ": "+io.ErrUnexpectedEOF.Error()))
	case errors.Is(err, rosbag.ErrCorrupt):
		return errors.New("damaged: " + text)
	}
	return err
}

// IsStoreError reports whether err is an error of a store. It says nothing about the bag, and further
// reads would fail as well, after as long a wait.
func IsStoreError(err error) bool {
	var remote storeError
	return errors.As(err, &remote)
}

// Shown returns the name of a file, an object or a topic as it is shown: quoted if it could control
// a terminal or nobody would see it, and without what may be secret in a URL.
func Shown(s string) string {
	s = Redact(s)
	if q := strconv.Quote(s); s == "" || q[1:len(q)-1] != s {
		return q
	}
	return s
}
