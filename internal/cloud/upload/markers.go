package upload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// marker is the content of the file .NAME.upload.
// See ADR 0045.
type marker struct {
	To       string `json:"to"`               // destination
	Object   string `json:"object,omitempty"` // name of the object, if not the name of the bag
	Upload   string `json:"upload,omitempty"` // ID of the multipart upload in progress
	SHA256   string `json:"sha256,omitempty"` // of the file when the multipart upload began
	Uploaded bool   `json:"uploaded,omitempty"`
}

const (
	markerPrefix   = "."
	markerSuffix   = ".upload"
	activeSuffix   = ".active" // of a bag that is being recorded
	maxMarkerBytes = 64 << 10
)

// readMarkers enqueues the files whose marker files in the directory name the same destination.
func (u *Uploader) readMarkers() error {
	entries, err := fs.ReadDir(u.bags.root.FS(), ".")
	if err != nil {
		return err
	}
	elsewhere := map[string]int{}
	for _, e := range entries {
		name, ok := bagOf(e)
		if !ok {
			continue
		}
		f := &file{name: name, hasMarker: true}
		switch err := u.bags.readMarker(f); {
		case err != nil:
			u.Log.Warn("not a valid marker file, ignored", zap.String("file", e.Name()), zap.Error(err))
		case f.marker.To != u.Bucket.String():
			elsewhere[f.marker.To]++
		default:
			u.enqueue(f)
		}
	}
	for to, n := range elsewhere {
		u.Log.Warn("files of former recordings wait for another destination: start a recorder with it to upload them", zap.Int("files", n), zap.String("to", to))
	}
	if len(u.files) > 0 {
		u.Log.Info("Files of former recordings wait for their upload", zap.Int("files", len(u.files)))
	}
	return nil
}

// enqueue adds a file of a former recorder. It checks for the .active file first: another
// recorder may rename it at any time.
func (u *Uploader) enqueue(f *file) {
	if _, err := u.bags.root.Lstat(f.name + activeSuffix); err != nil {
		st, err := u.bags.root.Lstat(f.name)
		if err != nil {
			u.bags.root.Remove(markerName(f)) //nolint:errcheck,gosec // the bag is gone
			return
		}
		f.state, f.size = waiting, st.Size()
	}
	u.append(f)
}

func markerName(f *file) string { return markerPrefix + f.name + markerSuffix }

// bagOf returns the name of the bag of a marker file, and whether an entry of the directory is one.
func bagOf(e fs.DirEntry) (name string, ok bool) {
	name, ok = strings.CutSuffix(e.Name(), markerSuffix)
	if ok {
		name, ok = strings.CutPrefix(name, markerPrefix)
	}
	return name, ok && e.Type().IsRegular()
}

// Pending returns the names of the bags in a directory that, according to their marker files, are not
// uploaded yet, to any destination.
func Pending(dir string) map[string]bool {
	pending := map[string]bool{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return pending
	}
	defer root.Close() //nolint:errcheck // only read from
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return pending
	}
	for _, e := range entries {
		name, ok := bagOf(e)
		if !ok {
			continue
		}
		var m marker
		b, err := root.ReadFile(e.Name())
		if err != nil || len(b) > maxMarkerBytes || json.Unmarshal(b, &m) != nil || m.Uploaded {
			continue
		}
		_, active := root.Lstat(name + activeSuffix) // first: a recorder may rename the bag at any time
		_, finished := root.Lstat(name)
		if active == nil || finished == nil { // otherwise the marker file is stale
			pending[name] = true
		}
	}
	return pending
}

// writeMarkers writes the marker files of new bags.
func (u *Uploader) writeMarkers(ctx context.Context) {
	for {
		u.mu.Lock()
		unmarked, changed, end := slices.Clone(u.unmarked), u.changed, u.finishing
		u.mu.Unlock()
		for _, f := range unmarked {
			if err := u.bags.writeMarker(f); err != nil {
				u.Log.Error("cannot write the marker file: if the recorder dies, only gobag upload --all uploads the file", zap.String("file", u.bags.path(f)), zap.Error(err))
			}
			u.update(func() {
				u.unmarked = slices.DeleteFunc(u.unmarked,
					func(g *file) bool { return g == f })
			})
		}
		if len(unmarked) > 0 {
			continue
		}
		if end {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// backOff waits before the next attempt.
func (u *Uploader) backOff(ctx context.Context, f *file, err error, wait time.Duration) {
	wait = jittered(wait)
	u.Log.Warn("not uploaded yet", zap.String("file", u.bags.path(f)),
		zap.Duration("next try in", wait.Round(time.Millisecond)), zap.Error(err))
	u.update(func() {
		u.stats.Err, u.stats.Retry = err.Error(), time.Now().Add(wait)
		u.stats.Failures++
		if errors.Is(err, store.ErrChanged) {
			f.sums = nil
		}
	})
	sleep(ctx, wait)
}

// jittered returns a wait of about the given length, so that many recorders do not retry at the same time.
func jittered(wait time.Duration) time.Duration {
	return wait/2 + rand.N(wait/2+1) //nolint:gosec // it spreads load
}

// sleep waits, at most until ctx is done.
func sleep(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// Text summarizes the uploads, for the end of a recording.
func (s *Stats) Text() string {
	text := fmt.Sprintf("uploaded %s", wording.Plural(s.Uploaded, "file"))
	if n := s.Waiting + s.Refused; n > 0 {
		text += fmt.Sprintf(", %s wait here for the next start", wording.Plural(n, "file"))
	}
	if s.Lost > 0 {
		text += fmt.Sprintf(", %s deleted before", wording.Plural(s.Lost, "file"))
	}
	return text
}
