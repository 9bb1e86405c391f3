package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// A temporary file or directory is named .NAME.XXXXXXXX.tmp, and locked until it has its own name or is
// removed: the lock of a process ends with it, however it ends. Who can lock one has found a leftover.
var leftoverRE = lazyre.New(`^\..+\.[A-Z2-7]{8}\.tmp$`)

// temporary returns a new name for a temporary file or directory beside path.
func temporary(path string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, fmt.Sprintf(".%s.%s.tmp", name, rand.Text()[:8]))
}

// holds locks a temporary file or directory that was just made under a name. It returns false if another
// process has taken it for a leftover: then another one is needed.
func holds(f *os.File, name string) bool {
	if !Lock(f) {
		return false
	}
	mine, err := f.Stat()
	there, gone := os.Lstat(name)
	return err == nil && gone == nil && os.SameFile(mine, there)
}

// RemoveLeftovers removes the temporary files and directories in a directory that programs which use this
// package have left there, and that ended without removing them. It returns their names. What is in use
// by another process stays, and so does everything on a file system without locks.
func RemoveLeftovers(dir string) (removed []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // creating a file there reports it
	}
	for _, e := range entries {
		if leftoverRE().MatchString(e.Name()) && (e.IsDir() || e.Type().IsRegular()) &&
			removeLeftover(filepath.Join(dir, e.Name()), e.IsDir()) {
			removed = append(removed, e.Name())
		}
	}
	return removed
}

// removeLeftover removes a temporary file or directory, unless it is in use.
func removeLeftover(path string, isDir bool) bool {
	f, err := os.Open(path) //nolint:gosec // in a directory that the user names
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only locked
	if !lockKnown(f) {
		return false
	}
	if isDir {
		if !removeStorage(path) {
			return false
		}
	} else if !isStorage(f) {
		return false
	}
	return os.Remove(path) == nil
}

// isStorage reports whether a file is empty, or begins as a bag, an MCAP file or a database does: others
// use such names, too.
func isStorage(f *os.File) bool {
	var head [6]byte
	n, err := f.ReadAt(head[:], 0)
	return n == 0 && errors.Is(err, io.EOF) ||
		slices.Contains([]string{"#ROSBA", "#ROSRE", "#ROSLO", "\x89MCAP0", "SQLite"}, string(head[:n]))
}

// removeStorage removes the files of a recording of ROS 2 from a directory. It returns false, and removes
// nothing, if the directory has anything else.
func removeStorage(dir string) bool {
	entries, err := os.ReadDir(dir)
	ends := []string{".mcap", ".db3", ".db3-journal", ".db3-wal", ".db3-shm"}
	for _, e := range entries {
		if e.Type()&fs.ModeType != 0 || e.Name() != "metadata.yaml" &&
			!slices.Contains(ends, filepath.Ext(e.Name())) {
			return false
		}
	}
	for _, e := range entries {
		err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
	}
	return err == nil
}
