package rosbag2

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Recording is a directory with the files of a recording.
type Recording struct {
	Storage  string    // MCAP or SQLite
	Files    []string  // in the order of recording, relative to the directory
	Metadata *Metadata // nil without a metadata.yaml that can be read
	Damage   []error   // what is wrong with metadata.yaml, and files that are missing
	Notes    []error   // files that are read in the place of missing ones
	Unlisted []string  // storage files in the directory that metadata.yaml does not list: they are not read
}

// errNoRecording means that a directory has neither metadata.yaml nor storage files.
var errNoRecording = errors.New("has neither metadata.yaml nor .mcap or .db3 files: not a recording of ROS 2")

// IsRecording reports whether a directory has a metadata.yaml, or storage files.
func IsRecording(dir fs.FS) bool {
	if _, err := fs.Stat(dir, MetadataName); err == nil {
		return true
	}
	_, files, _ := list(dir)
	return len(files) > 0
}

// ReadDirectory finds the files of the recording in a directory: those that metadata.yaml lists,
// else all storage files by number. A metadata.yaml that cannot be read is damage, not an error.
func ReadDirectory(dir fs.FS) (*Recording, error) {
	text, err := readMetadata(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return listed(dir, nil)
	}
	if err != nil {
		return listed(dir, []error{fmt.Errorf("%s: %w", MetadataName, err)})
	}
	md, err := ParseMetadata(text)
	if err != nil {
		return listed(dir,
			[]error{fmt.Errorf("%s: %w; the files in the directory are read instead", MetadataName, err)})
	}
	if len(md.Paths) == 0 {
		r, err := listed(dir, nil)
		if r != nil {
			r.Metadata = md
		}
		return r, err
	}
	return byMetadata(dir, md)
}

// readMetadata returns the text of metadata.yaml. Opening a pipe would wait for a writer.
func readMetadata(dir fs.FS) ([]byte, error) {
	st, err := fs.Stat(dir, MetadataName)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	f, err := dir.Open(MetadataName)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxMetadataBytes+1))
	return text, errors.Join(err, f.Close())
}

// byMetadata returns the files that metadata.yaml lists.
func byMetadata(dir fs.FS, md *Metadata) (*Recording, error) {
	r := &Recording{Storage: md.Storage, Metadata: md}
	seen := make(map[string]bool, len(md.Paths))
	var missing []int // places in r.Files
	for _, p := range md.Paths {
		name := p
		if md.Version < 4 { // relative to the parent of the directory, whose name may be another one by now
			name = path.Base(p)
		} else if !path.IsAbs(p) {
			name = path.Clean(p)
		}
		if !fs.ValidPath(name) || name == "." {
			return nil, fmt.Errorf("%s lists %q, which is outside of the directory", MetadataName, p)
		}
		if r.Storage == "" { // as humble's reindex leaves MCAP
			r.Storage = storageOf(name)
		}
		if seen[name] {
			return nil, fmt.Errorf("%s lists %q twice; remove one of the two lines", MetadataName, name)
		}
		plain := strings.TrimSuffix(name, PackedSuffix)
		seen[name], seen[plain], seen[plain+PackedSuffix] = true, true, true
		found, err := either(dir, name, plain, plain+PackedSuffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, len(r.Files))
			found = name
		case err != nil:
			return nil, err
		}
		r.Files = append(r.Files, found)
	}
	r.Unlisted = unlisted(dir, seen)
	r.replace(missing)
	switch {
	case r.Storage != MCAP && r.Storage != SQLite:
		return nil, fmt.Errorf("has the storage %q; %s and %s can be read", r.Storage, MCAP, SQLite)
	case md.CompressionMode == "file" && md.CompressionFormat != "zstd" &&
		slices.ContainsFunc(r.Files, func(f string) bool { return storageOf(f) == "" }):
		return nil, fmt.Errorf("its files are packed with %q; zstd can be read", md.CompressionFormat)
	}
	return r, nil
}

// either returns the first of several names that is there. It must be a regular file.
func either(dir fs.FS, names ...string) (name string, err error) {
	for _, name = range names {
		st, err := fs.Stat(dir, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && !st.Mode().IsRegular():
			err = fmt.Errorf("%s is not a regular file", name)
		}
		return name, err
	}
	return "", fs.ErrNotExist
}

// replace puts files that nobody lists in the place of as many missing ones: they were renamed. Otherwise the
// missing files are damage. missing are places in r.Files.
func (r *Recording) replace(missing []int) {
	other := func(name string) bool { return storageOf(name) != r.Storage }
	renamed := len(r.Unlisted) == len(missing) && !slices.ContainsFunc(r.Unlisted, other)
	for n, at := range slices.Backward(missing) {
		if name := r.Files[at]; renamed {
			r.Files[at] = r.Unlisted[n]
			r.Notes = append(r.Notes,
				fmt.Errorf("%s is missing; %s, which %s does not list, is read in its place", name,
					r.Unlisted[n], MetadataName))
		} else {
			r.Files = slices.Delete(r.Files, at, at+1)
			r.Damage = append(r.Damage, fmt.Errorf("%s is missing; %s lists it", name, MetadataName))
		}
	}
	slices.Reverse(r.Notes)
	slices.Reverse(r.Damage)
	if renamed {
		r.Unlisted = nil
	}
}

// unlisted returns the storage files of a directory that are not known.
func unlisted(dir fs.FS, known map[string]bool) (files []string) {
	entries, _ := fs.ReadDir(dir, ".") // what cannot be listed is not there for others either
	for _, e := range entries {
		if name := e.Name(); storageOf(name) != "" && !strings.HasPrefix(name, ".") && !e.IsDir() &&
			!known[name] {
			files = append(files, name)
		}
	}
	slices.SortFunc(files, byNumber)
	return files
}

// listed returns all storage files of a directory.
func listed(dir fs.FS, damage []error) (*Recording, error) {
	storage, files, err := list(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.Join(append(damage, errNoRecording)...)
	}
	return &Recording{Storage: storage, Files: files, Damage: damage}, nil
}

// list returns the storage files of a directory, by number: run_2 before run_10.
func list(dir fs.FS) (storage string, files []string, err error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		s := storageOf(e.Name())
		if s == "" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		// of a link, what it points to
		if st, err := fs.Stat(dir, e.Name()); err == nil && !st.Mode().IsRegular() {
			continue
		}
		if plain, ok := strings.CutSuffix(e.Name(), PackedSuffix); ok {
			if _, err := fs.Stat(dir, plain); err == nil {
				continue // the same, unpacked
			}
		}
		if storage != "" && s != storage {
			return "", nil, errors.New("has .mcap and .db3 files, and no metadata.yaml that says which belong together")
		}
		storage, files = s, append(files, e.Name())
	}
	slices.SortFunc(files, byNumber)
	return storage, files, nil
}

// PackedSuffix ends the names of files that are packed wholly.
const PackedSuffix = ".zstd"

// storageOf returns the storage of a file by its name, empty if it is none.
func storageOf(name string) string {
	switch path.Ext(strings.TrimSuffix(name, PackedSuffix)) {
	case ".mcap":
		return MCAP
	case ".db3":
		return SQLite
	default:
		return ""
	}
}

// byNumber compares names with the numbers in front of their extensions as numbers.
func byNumber(a, b string) int {
	sa, na := splitNumber(a)
	sb, nb := splitNumber(b)
	if sa != sb || na == nb {
		return strings.Compare(a, b)
	}
	if na < nb {
		return -1
	}
	return 1
}

// splitNumber returns the part of a name before its number, and the number; -1 if it has none.
func splitNumber(name string) (stem string, n int64) {
	name = strings.TrimSuffix(name, PackedSuffix)
	base := strings.TrimSuffix(name, path.Ext(name))
	stem = strings.TrimRight(base, "0123456789")
	n, err := strconv.ParseInt(base[len(stem):], 10, 64)
	if err != nil {
		n = -1
	}
	return stem, n
}
