package retention

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// entry is one line of a ledger: a new bag, or a change of a bag.
type entry struct {
	Bag     string        `json:"bag"` // the name of the bag once it is finished
	ID      disk.Identity `json:"id"`
	Begun   bool          `json:"begun,omitempty"`
	Name    string        `json:"name,omitempty"` // the present name of the file, if a repair has renamed it
	Pinned  bool          `json:"pinned,omitempty"`
	Deleted bool          `json:"deleted,omitempty"`
}

const (
	longestLine   = 16 << 10
	longestLedger = 16 << 20 // bytes; the rest of a longer ledger is not read
	compactLines  = 1000     // a ledger of fewer lines is not compacted
	longestLater  = 1 << 20  // most bytes of lines that wait after a failed write
)

// ledger is a file beside the bags that lists the bags of all recorders with the same directory and output name, for
// the retention of later runs. Each line has a checksum; a line that a crash has cut off is skipped. It is for
// concurrent use.
type ledger struct {
	dir      *disk.Folder
	name     string
	syncFile func(*os.File) error // makes what was written to a file durable

	mu         sync.Mutex     // guards the following fields; held while lines are written, so that they do not mix, and never during a sync
	file       *os.File       // locked against other recorders; nil when closed
	torn       bool           // the last line in the file is not complete
	later      []byte         // lines that wait after a failed write
	lines      int            // number of lines in the file
	bags       []entry        // all bags in the order in which they were begun, deleted ones included
	at         map[string]int // index in bags of the latest bag of each name
	dead       int            // number of bags that were deleted
	renamed    bool           // file has replaced another one, and the directory is not synced since then
	compacting bool           // a new file is written, which will replace this one
	added      []byte         // lines that the new file does not have yet; nil while not compacting
}

// errLedgerInUse means that another recorder with the same output is running.
var errLedgerInUse = errors.New("another recorder with the same output is running")

// ledgerName returns the name of the ledger of an output.
func ledgerName(o bagname.Output) string {
	key := strings.TrimSuffix(o.Name, ".bag")
	switch {
	case o.Template != "":
		key = o.Template
	case key == "":
		key = strings.TrimSuffix(o.Prefix, ".bag")
	}
	key = key[strings.LastIndexAny(key, `/\`)+1:]
	if key != "" {
		key = "." + key
	}
	return key + ".gorecord"
}

// openLedger opens a ledger, and creates it if there is none.
func openLedger(dir *disk.Folder, name string) (*ledger, error) {
	before, err := dir.Lstat(name)
	if err == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	if !disk.Claim(f) {
		return nil, errors.Join(errLedgerInUse, f.Close())
	}
	st, err := f.Stat()
	named, lost := dir.Lstat(name)
	if err != nil || lost != nil || !os.SameFile(st, named) { // another recorder has just compacted the ledger
		return nil, errors.Join(errLedgerInUse, f.Close())
	}
	l := &ledger{dir: dir, name: name, syncFile: (*os.File).Sync, file: f, at: map[string]int{}}
	if err := l.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// read applies the lines of the file.
func (l *ledger) read() error {
	in := bufio.NewReaderSize(io.LimitReader(l.file, longestLedger), longestLine)
	for {
		line, err := in.ReadSlice('\n')
		l.lines++
		e, ok := parseEntry(string(line))
		if ok {
			l.apply(e)
		}
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return err
		case l.lines > 1 && len(l.bags) == 0:
			return fmt.Errorf("%s holds something else", l.name) // no line is an entry
		default:
			l.torn = len(line) > 0 // cut off by a crash
			return nil
		}
	}
}

// apply applies an entry to bags.
func (l *ledger) apply(e entry) {
	i, known := l.at[e.Bag]
	known = known && !l.bags[i].Deleted
	switch {
	case e.Begun: // if a bag of the same name is listed, it has been deleted
		if known {
			l.bags[i].Deleted = true
			l.dead++
		}
		l.at[e.Bag] = len(l.bags)
		l.bags = append(l.bags, e)
	case known && l.bags[i].ID == e.ID:
		b := &l.bags[i]
		b.Pinned = b.Pinned || e.Pinned
		if e.Name != "" {
			b.Name = e.Name
		}
		if e.Deleted {
			b.Deleted = true
			l.dead++
		}
	}
}

// alive returns the bags that were not deleted, in the order in which they were begun.
func (l *ledger) alive() []entry {
	return slices.DeleteFunc(slices.Clone(l.bags), func(e entry) bool { return e.Deleted })
}

// parseEntry reads a line; ok is false if it is damaged.
func parseEntry(line string) (e entry, ok bool) {
	sum, text, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	want, err := strconv.ParseUint(sum, 16, 32)
	if !found || err != nil || uint32(want) != crc32.ChecksumIEEE([]byte(text)) {
		return entry{}, false
	}
	err = json.Unmarshal([]byte(text), &e)
	return e, err == nil && e.Bag != "" && !strings.ContainsAny(e.Bag+e.Name, "/\x00")
}

func (e *entry) line() ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

// compact replaces a long ledger with one without deleted bags, if these are the majority. A crash or an error
// leaves either the old or the new ledger, with all lines that were synced. Other goroutines can add lines
// meanwhile, and do not wait for the disk.
func (l *ledger) compact() error {
	text, due, err := l.beginCompacting()
	if !due {
		return err
	}
	defer l.endCompacting()
	temp := l.name + ".new"
	if err := l.dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := l.dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	disk.Lock(f)
	for lines := 0; ; {
		lines += bytes.Count(text, []byte("\n"))
		if _, err = f.Write(text); err == nil {
			err = l.syncFile(f)
		}
		var old *os.File
		if err == nil {
			old, text, err = l.replace(f, temp, lines)
		}
		switch {
		case err != nil:
			return errors.Join(err, f.Close(), l.dir.Remove(temp))
		case old != nil:
			return errors.Join(old.Close(), l.syncName())
		}
	}
}

// syncName makes durable that the new ledger has replaced the old one.
func (l *ledger) syncName() error {
	if err := l.syncFile(l.dir.Handle); err != nil {
		return err
	}
	l.mu.Lock()
	l.renamed = false
	l.mu.Unlock()
	return nil
}

// beginCompacting reports whether the ledger is to be compacted now, and returns the lines of a new one.
func (l *ledger) beginCompacting() (text []byte, due bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.compacting || l.lines <= compactLines || l.dead <= len(l.bags)/2 {
		return nil, false, nil
	}
	for _, e := range l.alive() {
		line, err := e.line()
		if err != nil {
			return nil, false, err
		}
		text = append(text, line...)
	}
	l.compacting = true
	return text, true, nil
}

// endCompacting ends beginCompacting.
func (l *ledger) endCompacting() {
	l.mu.Lock()
	l.compacting, l.added = false, nil
	l.mu.Unlock()
}

// replace makes f, the file called temp with the given number of lines, the ledger, and returns the old file. If lines
// are missing in f, replace returns them, and the old ledger stays.
func (l *ledger) replace(f *os.File, temp string, lines int) (old *os.File, missing []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil, nil, fs.ErrClosed
	}
	if len(l.added) > 0 {
		missing, l.added = l.added, nil
		return nil, missing, nil
	}
	if err := l.dir.Rename(temp, l.name); err != nil {
		return nil, nil, err
	}
	old = l.file
	l.file, l.bags, l.lines, l.dead = f, l.alive(), lines, 0
	l.renamed, l.torn, l.later = true, false, nil
	clear(l.at)
	for i := range l.bags {
		l.at[l.bags[i].Bag] = i
	}
	return old, nil, nil
}

// add writes a line. After a failed write, the line is written together with the next one.
func (l *ledger) add(e entry) error {
	line, err := e.line()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	l.apply(e)
	if l.compacting {
		l.added = append(l.added, line...)
	}
	if len(l.later)+len(line) <= longestLater {
		l.later = append(l.later, line...)
	}
	text := l.later
	if l.torn {
		text = append([]byte("\n"), text...)
	}
	if _, err := l.file.Write(text); err != nil {
		l.torn = true
		return err
	}
	l.lines += bytes.Count(l.later, []byte("\n"))
	l.torn, l.later = false, l.later[:0]
	return nil
}

// sync waits until all lines are on the disk.
func (l *ledger) sync() error {
	l.mu.Lock()
	file := l.file
	l.mu.Unlock()
	if file == nil {
		return nil
	}
	if err := l.syncFile(file); err != nil && !errors.Is(err, fs.ErrClosed) { // compact closes the file, and has synced the new one
		return err
	}
	l.mu.Lock()
	renamed := l.renamed
	l.mu.Unlock()
	if renamed { // a power cut would bring back the old ledger, which may lack these lines
		return l.syncFile(l.dir.Handle)
	}
	return nil
}

func (l *ledger) close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	file := l.file
	l.file = nil
	if file == nil {
		return nil
	}
	return file.Close()
}
