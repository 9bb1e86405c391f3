package retention

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
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
	// the name of the bag once it is finished
	Bag   string        `json:"bag"`
	ID    disk.Identity `json:"id"`
	Begun bool          `json:"begun,omitempty"`
	// begun by a repair: what was recorded is as old as the bag of that name before
	Whole bool `json:"whole,omitempty"`
	// the present name of the file, if a repair has renamed it
	Name string `json:"name,omitempty"`
	// repairBegun or repairLater
	Repair  string `json:"repair,omitempty"`
	Pinned  bool   `json:"pinned,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
}

// What became of the repair of a file that a crashed recorder has left.
const (
	repairBegun = "begun" // the recorder may have died of it
	repairLater = "later" // the recording ended first
)

const (
	longestLine   = 16 << 10
	longestLedger = 256 << 20 // bytes; of a longer ledger the end is read, with the latest bags
	// ADR 0129: compacting happens at the start of a run only.
	compactLines = 1000    // a ledger of fewer lines is not compacted
	longestLater = 1 << 20 // most bytes of lines that wait after a failed write
)

// ledger is a file beside the bags that lists the bags of all recorders with the same directory and
// output name, for the retention of later runs. Each line has a checksum; a line that a crash has cut off
// is skipped. It is for concurrent use. See ADR 0052.
type ledger struct {
	dir      *disk.Folder
	name     string
	syncFile func(*os.File) error // makes what was written to a file durable

	// guards the following fields; held while lines are written, so that they do not mix, and never
	// during a sync
	mu sync.Mutex
	// locked against other recorders; nil when closed
	file *os.File
	// the last line in the file is not complete
	torn bool
	// compact has renamed the file, and the directory is not synced since
	moved bool
	// lines that wait after a failed write
	later []byte
}

// listing is the content of a ledger.
type listing struct {
	bags  map[string]listedBag // the bags that were not deleted, by name
	lines int
	begun int // number of bags, deleted ones included
}

// listedBag is one bag of a listing.
type listedBag struct {
	entry
	number int // of the bag, in the order in which bags were recorded
}

// errLedgerInUse means that another recorder with the same output is running.
var errLedgerInUse = errors.New("another recorder with the same output is running")

// errNoIdentities means that a file cannot be told from another one that gets its name later: a ledger is
// useless.
var errNoIdentities = errors.New("the file system does not report when a file was created")

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
func openLedger(dir *disk.Folder, name string) (*ledger, listing, error) {
	before, err := dir.Lstat(name)
	if err == nil && !before.Mode().IsRegular() {
		return nil, listing{}, fmt.Errorf("%s is not a file", name)
	}
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, listing{}, err
	}
	if _, _, _, ok := disk.Identify(dir, name); !ok {
		return nil, listing{}, errors.Join(errNoIdentities, f.Close())
	}
	if !disk.Claim(f) {
		return nil, listing{}, errors.Join(errLedgerInUse, f.Close())
	}
	st, err := f.Stat()
	named, lost := dir.Lstat(name)
	// another recorder has just compacted the ledger
	if err != nil || lost != nil || !os.SameFile(st, named) {
		return nil, listing{}, errors.Join(errLedgerInUse, f.Close())
	}
	l := &ledger{dir: dir, name: name, syncFile: (*os.File).Sync, file: f}
	list, err := l.read(max(0, st.Size()-longestLedger))
	if err != nil {
		return nil, listing{}, errors.Join(err, f.Close())
	}
	return l, list, nil
}

// read reads the file from an offset on, which may be within a line.
func (l *ledger) read(from int64) (listing, error) {
	list := listing{bags: map[string]listedBag{}}
	if _, err := l.file.Seek(from, io.SeekStart); err != nil {
		return list, err
	}
	in := bufio.NewReaderSize(l.file, longestLine)
	for {
		line, err := in.ReadSlice('\n')
		list.lines++
		e, ok := parseEntry(string(line))
		if ok {
			list.apply(e)
		}
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return list, err
		case list.lines > 1 && list.begun == 0:
			return list, fmt.Errorf("%s holds something else", l.name) // no line is a new bag
		default:
			l.torn = len(line) > 0 // cut off by a crash
			return list, nil
		}
	}
}

// apply applies an entry to the bags.
func (l *listing) apply(e entry) {
	b, known := l.bags[e.Bag]
	switch {
	case e.Begun:
		// if a bag of the same name is listed, a repair has made this one of it, or it has been deleted
		l.begun++
		now := listedBag{e, l.begun}
		if known && e.Whole {
			now.number, now.Pinned = b.number, b.Pinned
		}
		l.bags[e.Bag] = now
	case !known || b.ID != e.ID:
	case e.Deleted:
		delete(l.bags, e.Bag)
	default:
		b.Pinned = b.Pinned || e.Pinned
		b.Name = cmp.Or(e.Name, b.Name)
		b.Repair = cmp.Or(e.Repair, b.Repair)
		l.bags[e.Bag] = b
	}
}

// alive returns the bags that were not deleted, in the order in which they were recorded.
func (l *listing) alive() []listedBag {
	return slices.SortedFunc(maps.Values(l.bags),
		func(a, b listedBag) int { return cmp.Compare(a.number, b.number) })
}

// isStale reports whether the ledger is long, and most of its bags were deleted.
func (l *listing) isStale() bool { return l.lines > compactLines && 2*len(l.bags) < l.begun }

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

// compact replaces the ledger with one that has only the given bags. It is called before lines are added.
// A crash or an error leaves either the old or the new ledger.
func (l *ledger) compact(bags []listedBag) error {
	var text []byte
	for i := range bags {
		line, err := bags[i].line()
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	temp := l.name + ".new"
	if err := l.dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := l.dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	disk.Lock(f)
	if _, err = f.Write(text); err == nil {
		err = l.syncFile(f)
	}
	if err == nil {
		err = l.dir.Rename(temp, l.name)
	}
	if err != nil {
		return errors.Join(err, f.Close(), l.dir.Remove(temp))
	}
	l.mu.Lock()
	old := l.file
	l.file, l.torn, l.moved = f, false, true
	l.mu.Unlock()
	return errors.Join(old.Close(), l.sync())
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
	l.torn, l.later = false, l.later[:0]
	return nil
}

// sync waits until all lines are on the disk, under the name of the ledger.
func (l *ledger) sync() error {
	l.mu.Lock()
	file, moved := l.file, l.moved
	l.mu.Unlock()
	if file == nil {
		return nil
	}
	err := l.syncFile(file)
	if err != nil || !moved {
		return err
	}
	if err = l.syncFile(l.dir.Handle); err == nil {
		l.mu.Lock()
		l.moved = false
		l.mu.Unlock()
	}
	return err
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
