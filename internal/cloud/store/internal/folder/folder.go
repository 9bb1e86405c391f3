// Package folder keeps objects in a directory, such as a network share. Beside each object there is a
// file with its metadata, whose name ends in Suffix.
//
// It never makes the directory: while a share or a disk is not mounted, everything would go to the disk
// of the system.
package folder

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // what other programs of the format keep beside an object; not for security
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
	"github.com/gorosbag/gorosbag/internal/files"
)

// Suffix ends the names of the files in which the metadata of objects is kept. Lists leave these files out.
const Suffix = ".attrs"

// dirMode is that of folders, before the umask.
const dirMode fs.FileMode = 0o777

// Folder implements driver.Bucket.
type Folder struct {
	at     place.Place
	root   string
	meter  *put.Meter
	create bool // the directory, too: the URL demands it
	bare   bool // keep no metadata: the URL demands it
	mode   fs.FileMode
}

// New returns the Folder of a URL. It touches no disk.
func New(at place.Place, meter *put.Meter) (*Folder, error) {
	d := &Folder{at: at, root: at.File(), meter: meter, mode: dirMode}
	for key, values := range at.URL.Query() {
		switch value := values[0]; key {
		case "create_dir":
			d.create = value != ""
		case "no_tmp_dir": // temporary files are always beside the objects
		case "dir_file_mode":
			mode, err := strconv.ParseUint(value, 0, 9)
			if err != nil {
				return nil, at.Fail(nil,
					"invalid dir_file_mode %q: want the permissions of directories, such as 0770", value)
			}
			d.mode = fs.FileMode(mode)
		case "metadata":
			if d.bare = value == "skip"; !d.bare && value != "" {
				return nil, at.Fail(nil, "invalid metadata %q: want skip", value)
			}
		default:
			return nil, at.Fail(nil,
				"unknown query parameter %q: check the spelling of the query parameters of the URL", key)
		}
	}
	return d, nil
}

// ErrNotThere means that the directory does not exist, whereas place.ErrNotFound may mean an object.
var ErrNotThere = errors.New("no such directory")

// NotThere returns the error for a directory that does not exist.
func NotThere(at place.Place) error {
	err := at.Fail(place.ErrNotFound, "%v: make or mount it, or add ?create_dir=true to the URL", ErrNotThere)
	return place.WithKind(ErrNotThere, err)
}

// attributes is the content of a file with metadata: that of fileblob of gocloud.dev, so that its
// programs can read it.
type attributes struct {
	CacheControl       string            `json:"user.cache_control"`
	ContentDisposition string            `json:"user.content_disposition"`
	ContentEncoding    string            `json:"user.content_encoding"`
	ContentLanguage    string            `json:"user.content_language"`
	ContentType        string            `json:"user.content_type"`
	Metadata           map[string]string `json:"user.metadata"`
	MD5                []byte            `json:"md5"`
}

// path returns the path of an object.
func (d *Folder) path(key string) (string, error) {
	if !fs.ValidPath(key) || key == "." || strings.HasSuffix(key, Suffix) {
		return "", fmt.Errorf("%.80q is no name of an object in a directory", key)
	}
	return filepath.Join(d.root, filepath.FromSlash(key)), nil
}

// missing returns another error than err if that is because the directory is not there.
func (d *Folder) missing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) || d.create {
		return err
	}
	switch _, e := os.Stat(d.root); {
	case errors.Is(e, fs.ErrNotExist):
		return NotThere(d.at)
	case e != nil:
		return e
	}
	return err
}

// stat returns the information about the file of an object, and its path.
func (d *Folder) stat(key string) (string, fs.FileInfo, error) {
	file, err := d.path(key)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(file)
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	return file, info, d.missing(err)
}

// Attributes implements driver.Bucket.
func (d *Folder) Attributes(_ context.Context, key string) (driver.Attributes, error) {
	file, info, err := d.stat(key)
	if err != nil {
		return driver.Attributes{}, err
	}
	a := driver.Attributes{
		Size: info.Size(), ModTime: info.ModTime(),
		ETag: fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()),
	}
	text, err := os.ReadFile(file + Suffix) //nolint:gosec // the user names the directory
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	var kept attributes
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	a.MD5, a.Metadata = kept.MD5, kept.Metadata
	return a, err
}

// Open implements driver.Bucket.
func (d *Folder) Open(_ context.Context, key string, offset, length int64) (*driver.Reader, error) {
	file, info, err := d.stat(key)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file) //nolint:gosec // the user names the directory
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = max(0, info.Size()-offset)
	}
	body := struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, offset, length), f}
	return &driver.Reader{ReadCloser: body, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// List implements driver.Bucket.
func (d *Folder) List(ctx context.Context, prefix string, deep bool) iter.Seq2[driver.Object, error] {
	return func(yield func(driver.Object, error) bool) {
		if _, err := os.Stat(d.root); err != nil && !d.create {
			yield(driver.Object{}, d.missing(err))
			return
		}
		folder, _ := path.Split(prefix)
		// The separator at the end has links followed.
		start := filepath.Join(d.root, filepath.FromSlash(folder)) + string(filepath.Separator)
		err := filepath.WalkDir(start, func(p string, entry fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			name, _ := filepath.Rel(d.root, p) // both are below the root
			name = filepath.ToSlash(name)
			switch {
			case errors.Is(err, fs.ErrNotExist): // deleted meanwhile, or a folder that is not there
				return nil
			case err != nil:
				return d.at.Object(name).Explain(err)
			case entry.IsDir() && p != start && !deep:
				return fs.SkipDir
			case entry.IsDir(), !strings.HasPrefix(name, prefix), strings.HasSuffix(name, Suffix):
				return nil
			}
			st, err := os.Stat(p) // of the file that a link points to
			if err != nil || !st.Mode().IsRegular() {
				return nil //nolint:nilerr // deleted meanwhile
			}
			if !yield(driver.Object{Key: name, Size: st.Size(), ModTime: st.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(driver.Object{}, err)
		}
	}
}

// PartBytes implements driver.Bucket: a file is written as a whole.
func (d *Folder) PartBytes(size int64) int64 { return size }

// Put implements driver.Bucket.
func (d *Folder) Put(ctx context.Context, key string, f *put.File) error {
	file, err := d.path(key)
	if err != nil {
		return err
	}
	folders, err := d.makeFolders(path.Dir(key))
	if err != nil {
		return d.missing(err)
	}
	mode := cmp.Or(f.Mode, put.DefaultMode)
	object, err := newTemporary(file, mode)
	if err != nil {
		return d.missing(err)
	}
	defer object.discard()
	sum := md5.New() //nolint:gosec // see above
	body := f.CheckedReader(d.meter.Reader(ctx, io.NewSectionReader(f, 0, f.Size)))
	if _, err := io.Copy(io.MultiWriter(object, sum), body); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.bare {
		return d.missing(errors.Join(object.publish(file, f.Exclusive), syncFolders(folders)))
	}
	text, err := json.Marshal(attributes{
		ContentType: put.ContentType, Metadata: f.AllMetadata(),
		MD5: sum.Sum(nil),
	})
	if err != nil {
		return err
	}
	notes, err := newTemporary(file+Suffix, mode)
	if err != nil {
		return d.missing(err)
	}
	defer notes.discard()
	if _, err := notes.Write(append(text, '\n')); err != nil {
		return err
	}
	return d.missing(errors.Join(publishBoth(file, object, notes, f.Exclusive), syncFolders(folders)))
}

// publishBoth gives an object and its metadata their names: the metadata first, as an object without it
// counts as another's. Where the object must not replace another one, that one keeps its own.
func publishBoth(file string, object, notes *temporary, exclusive bool) error {
	if exclusive {
		if err := object.publish(file, true); err != nil {
			return err
		}
		return notes.publish(file+Suffix, false)
	}
	_, before := os.Lstat(file + Suffix)
	if err := notes.publish(file+Suffix, false); err != nil {
		return err
	}
	err := object.publish(file, false)
	if err != nil && errors.Is(before, fs.ErrNotExist) {
		_ = os.Remove(file + Suffix) // of no object
	}
	return err
}

// makeFolders makes the folders of an object, one by one: the directory itself has to be there. It
// returns the paths of all, the innermost first.
func (d *Folder) makeFolders(folder string) (all []string, err error) {
	if d.create {
		if err := os.MkdirAll(d.root, d.mode); err != nil {
			return nil, err
		}
	}
	all = []string{d.root}
	if folder == "." {
		return all, nil
	}
	at := d.root
	for name := range strings.SplitSeq(folder, "/") {
		at = filepath.Join(at, name)
		if err := os.Mkdir(at, d.mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		all = append([]string{at}, all...)
	}
	return all, nil
}

// syncFolders makes names durable: the bag on this machine may be deleted next.
func syncFolders(folders []string) error {
	for _, folder := range folders {
		if err := files.SyncDir(folder); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements driver.Bucket.
func (d *Folder) Delete(_ context.Context, key string) error {
	file, err := d.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil {
		return d.missing(err)
	}
	if err := os.Remove(file + Suffix); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close implements driver.Bucket.
func (d *Folder) Close() error { return nil }

// temporary is a file that publish gives its name.
type temporary struct {
	*os.File
	closed bool
}

// newTemporary makes a file beside the one that it becomes: the directory of the system may be another
// disk, from which nothing can be renamed.
func newTemporary(file string, mode fs.FileMode) (*temporary, error) {
	for {
		name := file + "." + strconv.FormatInt(time.Now().UnixNano(), 16) + ".tmp"
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode) //nolint:gosec // the user names the directory
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_ = f.Chmod(mode) // before it has any content; some file systems have no modes
		return &temporary{File: f}, nil
	}
}

// publish makes the file durable and gives it its name. An exclusive one replaces no other file.
func (t *temporary) publish(name string, exclusive bool) error {
	t.closed = true
	err := errors.Join(t.Sync(), t.Close())
	switch {
	case err != nil:
	case exclusive:
		err = linkOrReserve(t.Name(), name)
	default:
		err = os.Rename(t.Name(), name)
	}
	_ = os.Remove(t.Name()) // it is gone after a rename
	return err
}

// linkOrReserve gives a file a name that is free.
func linkOrReserve(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) { // the file system has no links: an empty file reserves the name
		var reserved *os.File
		if reserved, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, put.DefaultMode); err == nil { //nolint:gosec // the user names the directory
			return errors.Join(reserved.Close(), os.Rename(from, to))
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return place.WithKind(place.ErrExists, err)
	}
	return err
}

// discard removes the file unless it has its name.
func (t *temporary) discard() {
	if !t.closed {
		_ = t.Close()
		_ = os.Remove(t.Name())
	}
}
