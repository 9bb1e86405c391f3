package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/internal/files"
)

// openJournal reads what an interrupted audit of the place has verified, and opens the journal to
// add to it. It does not touch a file that is something else.
func (a *Audit) openJournal(path string) error {
	if path == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(a.place.String()))
		path = filepath.Join(dir, "gobag", fmt.Sprintf("audit-%x.jsonl", sum[:8]))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path) // it would be deleted in the end
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	if !files.Lock(f) {
		return errors.Join(errors.New(path+" is in use by another audit"), f.Close())
	}
	if err := a.readJournal(f); err != nil {
		return errors.Join(err, f.Close())
	}
	a.journal = f
	return nil
}

// readJournal reads the journal, whose first line names the place that is audited. It writes that line
// into a file that is empty, or that has only the beginning of it.
func (a *Audit) readJournal(f *os.File) error {
	head, err := json.Marshal(map[string]string{"audit of": a.place.String()})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(f)
	if lines.Scan(); !bytes.Equal(lines.Bytes(), head) {
		st, err := f.Stat()
		switch torn := bytes.HasPrefix(head, lines.Bytes()) && st != nil &&
			st.Size() == int64(len(lines.Bytes())); {
		case err != nil:
			return err
		case lines.Err() != nil || !torn:
			return fmt.Errorf("%s is not that of an audit of %s", f.Name(), a.place)
		}
		_, err = f.Write(head[st.Size():])
		return err
	}
	for lines.Scan() {
		var v Verdict
		if json.Unmarshal(lines.Bytes(), &v) == nil { // the last line may be torn
			a.known[v.Bag] = v
		}
	}
	return lines.Err()
}

// note adds a line to the journal. It begins with a line end, because the last one may be torn.
func (a *Audit) note(v Verdict) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = a.journal.Write(append([]byte("\n"), line...))
	}
	return err
}
