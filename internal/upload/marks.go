package upload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/store"
)

// mark is what stands in the file .NAME.upload.
type mark struct {
	To       string `json:"to"`               // place in the store
	Upload   string `json:"upload,omitempty"` // upload in parts that is under way, by the store's name
	SHA256   string `json:"sha256,omitempty"` // of the file that it was begun for
	Uploaded bool   `json:"uploaded,omitempty"`
}

const (
	markPrefix   = "."
	markSuffix   = ".upload"
	activeSuffix = ".active" // of a bag that is being recorded
	markLimit    = 64 << 10
)

// adopt takes what marks in the directory say is to be uploaded, but not what is meant
// for another place.
func (u *Uploader) adopt() error {
	entries, err := fs.ReadDir(u.root.FS(), ".")
	if err != nil {
		return err
	}
	strange := map[string]int{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), markSuffix)
		if !ok || !strings.HasPrefix(name, markPrefix) || !e.Type().IsRegular() {
			continue
		}
		f := &file{name: name[len(markPrefix):], named: true}
		switch err := u.read(f); {
		case err != nil:
			u.Log.Warn("not a mark of an upload: it is left alone", zap.String("file", e.Name()), zap.Error(err))
		case f.mark.To != u.Bucket.String():
			strange[f.mark.To]++
		default:
			u.take(f)
		}
	}
	for to, n := range strange {
		u.Log.Warn("files of former recordings wait for another place: they are uploaded when a recorder is given that", zap.Int("files", n), zap.String("to", to))
	}
	if len(u.files) > 0 {
		u.Log.Info("Files of former recordings wait for their upload", zap.Int("files", len(u.files)))
	}
	return nil
}

// take puts a file of a former recorder on the list. It looks for the name that a bag has
// first before the one it has later: another recorder may be at it.
func (u *Uploader) take(f *file) {
	if _, err := u.root.Lstat(f.name + activeSuffix); err != nil {
		st, err := u.root.Lstat(f.name)
		if err != nil {
			u.root.Remove(markName(f)) //nolint:errcheck,gosec // the bag is gone: the mark means nothing
			return
		}
		f.state, f.size = waiting, st.Size()
	}
	u.files = append(u.files, f)
}

func markName(f *file) string { return markPrefix + f.name + markSuffix }

// Left returns the names of the bags in a directory of which marks say that they are still to
// be uploaded, to wherever that is.
func Left(dir string) map[string]bool {
	left := map[string]bool{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return left
	}
	defer root.Close() //nolint:errcheck // only read from
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return left
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), markSuffix)
		if !ok || !strings.HasPrefix(name, markPrefix) || !e.Type().IsRegular() {
			continue
		}
		var m mark
		b, err := root.ReadFile(e.Name())
		if err != nil || len(b) > markLimit || json.Unmarshal(b, &m) != nil || m.Uploaded {
			continue
		}
		bag := name[len(markPrefix):]
		_, finished := root.Lstat(bag)
		_, active := root.Lstat(bag + activeSuffix)
		left[bag] = finished == nil || active == nil
	}
	for name, there := range left {
		if !there { // the mark means nothing
			delete(left, name)
		}
	}
	return left
}

func (u *Uploader) read(f *file) error {
	in, err := u.root.Open(markName(f))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	b, err := io.ReadAll(io.LimitReader(in, markLimit))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, &f.mark)
}

// write writes the mark and makes it durable. It stays the same file, because another
// recorder may look whether we hold it.
func (u *Uploader) write(f *file) error {
	b, err := json.Marshal(f.mark)
	if err != nil {
		return err
	}
	out, err := u.root.OpenFile(markName(f), os.O_WRONLY|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(append(b, '\n'), 0)
	if err == nil {
		err = out.Truncate(int64(len(b)) + 1)
	}
	if err == nil {
		err = out.Sync()
	}
	err = errors.Join(err, out.Close())
	f.named = err == nil
	return err
}

// unmark says that nothing is left to do.
func (u *Uploader) unmark(f *file) error {
	err := u.root.Remove(markName(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// errHeld means that another recorder uploads the file right now.
var errHeld = errors.New("upload: another recorder is at it")

// hold keeps others from uploading the file until what it returns is closed. An error
// that is fs.ErrNotExist means that another one has done it.
func (u *Uploader) hold(f *file) (*os.File, error) {
	m, err := u.root.OpenFile(markName(f), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if !lock(m) {
		return nil, errors.Join(errHeld, m.Close())
	}
	open, err := m.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = u.root.Lstat(markName(f)); err == nil && !os.SameFile(open, named) {
			err = fs.ErrNotExist
		}
	}
	if err == nil {
		err = u.read(f) // the other may have come somewhere
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// keepMarks writes the marks of files that begin.
func (u *Uploader) keepMarks(ctx context.Context) {
	for {
		u.mu.Lock()
		news, changed, end := slices.Clone(u.news), u.changed, u.ending
		u.mu.Unlock()
		for _, f := range news {
			if err := u.write(f); err != nil {
				u.Log.Error("no mark: if the recorder dies, the file is not uploaded", zap.String("file", u.path(f)), zap.Error(err))
			}
			u.update(func() { u.news = slices.DeleteFunc(u.news, func(g *file) bool { return g == f }) })
		}
		if len(news) > 0 {
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

// pause waits before the next try, for a time that is not the same for all recorders
// that a store is away for.
func (u *Uploader) pause(ctx context.Context, f *file, err error, wait time.Duration) {
	wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // it spreads load
	u.Log.Warn("not uploaded yet", zap.String("file", u.path(f)), zap.Duration("next try in", wait.Round(time.Millisecond)), zap.Error(err))
	u.update(func() {
		u.stats.Err, u.stats.Retry = err.Error(), time.Now().Add(wait)
		u.stats.Failures++
		if errors.Is(err, store.ErrChanged) {
			f.sums = nil
		}
	})
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Text says what has become of the uploads, for the end of a recording.
func (s *Stats) Text() string {
	text := fmt.Sprintf("uploaded %s", count(s.Uploaded))
	if n := s.Waiting + s.Refused; n > 0 {
		text += fmt.Sprintf(", %s wait here for the next start", count(n))
	}
	if s.Lost > 0 {
		text += fmt.Sprintf(", %s deleted before", count(s.Lost))
	}
	return text
}

func count(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
