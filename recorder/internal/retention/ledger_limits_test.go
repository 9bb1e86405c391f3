package retention

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/disk"
)

// TestDamagedLines are no entries, and neither are those that could name other files.
func TestDamagedLines(t *testing.T) {
	t.Parallel()
	sealed := func(text string) string { return fmt.Sprintf("%08x %s\n", crc32.ChecksumIEEE([]byte(text)), text) }
	for line, want := range map[string]bool{
		sealed(`{"bag":"a.bag"}`):                            true,
		sealed(`{"bag":"a.bag","name":"a.bag.orig.active"}`): true,
		"00000001" + sealed(`{"bag":"a.bag"}`)[8:]:           false,
		"x" + sealed(`{"bag":"a.bag"}`)[1:]:                  false,
		`{"bag":"a.bag"}`:                                    false,
		"":                                                   false,
		sealed(`{"bag":"a.bag","pinned":1}`):                 false,
		sealed(`{"bag":""}`):                                 false,
		sealed(`{}`):                                         false,
		sealed(`{"bag":"../a.bag"}`):                         false,
		sealed(`{"bag":"a.bag","name":"b/a.bag"}`):           false,
		sealed(`{"bag":"a.bag\u0000"}`):                      false,
	} {
		if e, ok := parseEntry(line); ok != want || ok && e.Bag != "a.bag" {
			t.Errorf("%q: %+v, %v; want %v", line, e, ok, want)
		}
	}
}

// TestEntriesOfOneBag: what is said of a bag is of the file that was begun, and adds up.
func TestEntriesOfOneBag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := disk.Identity{Inode: 1, Born: 1}, disk.Identity{Inode: 2, Born: 2}
	add := func(entries ...entry) {
		t.Helper()
		l, _ := testLedger(t, dir)
		for _, e := range entries {
			if err := l.add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want entry) {
		t.Helper()
		l, list := testLedger(t, dir)
		if got := list.alive(); len(got) != 1 || got[0].entry != want {
			t.Errorf("alive: %+v, want %+v", got, want)
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
	add(
		entry{Bag: "a.bag", ID: one, Begun: true},
		entry{Bag: "b.bag", ID: one, Pinned: true},  // was not begun
		entry{Bag: "a.bag", ID: two, Deleted: true}, // another file
		entry{Bag: "a.bag", ID: one, Name: "c"},
		entry{Bag: "a.bag", ID: one},
	)
	check(entry{Bag: "a.bag", ID: one, Begun: true, Name: "c"})
	add(entry{Bag: "a.bag", ID: one, Pinned: true})
	check(entry{Bag: "a.bag", ID: one, Begun: true, Name: "c", Pinned: true})
	add(entry{Bag: "a.bag", ID: two, Begun: true})
	check(entry{Bag: "a.bag", ID: two, Begun: true})
}

// ledgerOf writes a ledger of some bags, of which the first were deleted.
func ledgerOf(t *testing.T, dir string, bags, deleted int) {
	t.Helper()
	l, _ := testLedger(t, dir)
	for n := range bags + deleted {
		if err := l.add(entry{Bag: fmt.Sprint(n % bags), ID: disk.Identity{Inode: 1, Born: 1}, Begun: n < bags, Deleted: n >= bags}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
}

// TestWhenALedgerIsStale: of a thousand lines, if most bags were deleted.
func TestWhenALedgerIsStale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bags, deleted int
		want          bool
	}{
		{600, 399, false}, {600, 400, true}, {800, 400, false}, {800, 401, true}, {10, 10, false}, // the end of the file counts as a line
	} {
		dir := t.TempDir()
		ledgerOf(t, dir, c.bags, c.deleted)
		if _, list := testLedger(t, dir); list.isStale() != c.want || len(list.bags) != c.bags-c.deleted {
			t.Errorf("of %d bags %d were deleted: stale %v with %d bags, want %v", c.bags, c.deleted, list.isStale(), len(list.bags), c.want)
		}
	}
}

// TestEndOfALongLedger: the latest bags are read, whatever the line at the offset is.
func TestEndOfALongLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledgerOf(t, dir, 9, 0)
	l, _ := testLedger(t, dir)
	st, err := l.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	line := st.Size() / 9
	list, err := l.read(6*line + line/2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range list.alive() {
		got = append(got, b.Bag)
	}
	if want := []string{"7", "8"}; !slices.Equal(got, want) || l.torn {
		t.Errorf("%v, torn %v; want %v", got, l.torn, want)
	}
}

// TestCompaction leaves the bags that are there, in their order, and the ledger can be added to.
func TestCompaction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledgerOf(t, dir, 20, 17)
	if err := os.WriteFile(filepath.Join(dir, "ledger.new"), []byte("of a crashed recorder"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, list := testLedger(t, dir)
	var synced []string
	l.syncFile = func(f *os.File) error {
		synced = append(synced, filepath.Base(f.Name()))
		return f.Sync()
	}
	if err := l.compact(list.alive()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ledger.new", "ledger.new", "."}; !slices.Equal(synced, want) { // the file is open by its first name
		t.Errorf("synced %v, want %v: a power cut must not bring back a ledger without later lines", synced, want)
	}
	if err := errors.Join(l.add(entry{Bag: "next", ID: disk.Identity{Inode: 1, Born: 1}, Begun: true}), l.sync(), l.close()); err != nil {
		t.Fatal(err)
	}
	_, list = testLedger(t, dir)
	var got []string
	for _, b := range list.alive() {
		got = append(got, b.Bag)
	}
	if want := []string{"17", "18", "19", "next"}; !slices.Equal(got, want) || list.begun != 4 {
		t.Errorf("%v of %d, want %v", got, list.begun, want)
	}
}

// TestCompactionThatFails leaves the old ledger, and a later one succeeds.
func TestCompactionThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledgerOf(t, dir, 20, 17)
	l, list := testLedger(t, dir)
	injected := errors.New("injected")
	l.syncFile = func(*os.File) error { return injected }
	if err := l.compact(list.alive()); !errors.Is(err, injected) {
		t.Errorf("got %v, want %v", err, injected)
	}
	if _, err := os.Stat(filepath.Join(dir, "ledger.new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new ledger is left: %v", err)
	}
	if err := errors.Join(l.add(entry{Bag: "next", ID: disk.Identity{Inode: 1, Born: 1}, Begun: true}), l.close()); err != nil {
		t.Fatal(err)
	}
	l, list = testLedger(t, dir)
	if list.begun != 21 || len(list.bags) != 4 {
		t.Errorf("%d bags of %d, want 4 of 21", len(list.bags), list.begun)
	}
	if err := l.compact(list.alive()); err != nil {
		t.Error(err)
	}
}

// TestDirectoryThatCannotBeSynced is synced with the next lines: until then a power cut brings back the ledger from
// before the compaction, without them.
func TestDirectoryThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledgerOf(t, dir, 20, 17)
	l, list := testLedger(t, dir)
	injected := errors.New("injected")
	fails, synced := true, 0
	l.syncFile = func(f *os.File) error {
		if f != l.dir.Handle {
			return nil
		}
		if fails {
			return injected
		}
		synced++
		return nil
	}
	if err := l.compact(list.alive()); !errors.Is(err, injected) {
		t.Errorf("got %v, want %v", err, injected)
	}
	if err := l.sync(); !errors.Is(err, injected) {
		t.Errorf("again: got %v, want %v", err, injected)
	}
	fails = false
	if err := errors.Join(l.sync(), l.sync(), l.close()); err != nil || synced != 1 {
		t.Errorf("the directory was synced %d times: %v", synced, err)
	}
}

// TestNotesThatCannotBeWritten take 1 MiB at most.
func TestNotesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t, t.TempDir())
	l.file.Close()
	e := entry{Bag: strings.Repeat("a", 5000), ID: disk.Identity{Inode: 1, Born: 1}, Pinned: true}
	line, err := e.line()
	if err != nil {
		t.Fatal(err)
	}
	for range longestLater/len(line) + 10 {
		if l.add(e) == nil {
			t.Fatal("written to a file that is closed")
		}
	}
	if n := len(l.later); n > longestLater || n <= longestLater-len(line) {
		t.Errorf("%d bytes wait, want %d at most", n, longestLater)
	}
}

// TestSyncOfALedger returns errors, but a ledger that is closed needs no sync.
func TestSyncOfALedger(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(t, t.TempDir())
	if err := l.sync(); err != nil {
		t.Error(err)
	}
	file := l.file
	_, pipe, err := os.Pipe() // which cannot be synced
	if err != nil {
		t.Fatal(err)
	}
	l.file = pipe
	if err := l.sync(); err == nil {
		t.Error("an error is not told")
	}
	if err := pipe.Close(); err != nil {
		t.Error(err)
	}
	l.file = file
	if err := errors.Join(l.close(), l.sync()); err != nil {
		t.Errorf("closed: %v", err)
	}
}

// TestNotesThatFailAreSaidOnce: the limits of later recordings may not hold.
func TestNotesThatFailAreSaidOnce(t *testing.T) {
	t.Parallel()
	s := testSeries(t, t.TempDir())
	needIdentity(t, s)
	core, logs := observer.New(zap.WarnLevel)
	r := New(Limits{Files: 10}, zap.New(core), s.Free, keepNone)
	if err := r.Load(s, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b, err := s.Create(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer b.Discard()
		if r.Begin(b.Place); i == 0 {
			if logs.Len() != 0 {
				t.Errorf("logged %v", logs.All())
			}
			r.ledger.file.Close()
		}
	}
	if logs.Len() != 1 {
		t.Errorf("logged %v, want one warning", logs.All())
	}
}

// TestAgeOfEarlierBags: by the time at which they were changed last, unless the clock was
// wrong then: such a bag is as old as the run.
func TestAgeOfEarlierBags(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		changed time.Time
		deleted bool
	}{
		"young":             {now.Add(-time.Minute), false},
		"old":               {now.Add(-2 * time.Hour), true},
		"of this century":   {time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC), true},
		"before clocks ran": {time.Date(1999, 12, 30, 0, 0, 0, 0, time.UTC), false},
		"in the future":     {now.Add(time.Hour), false},
	} {
		dir := t.TempDir()
		first := startRun(t, dir, Limits{Age: time.Hour})
		f := first.bag()
		first.end()
		if err := os.Chtimes(f.Target(), c.changed, c.changed); err != nil {
			t.Fatal(err)
		}
		next := startRun(t, dir, Limits{Age: time.Hour})
		if files := next.r.files; len(files) > 0 && (files[0].closed.After(time.Now()) || files[0].closed.Year() < 2000) {
			t.Errorf("%s: closed at %v", name, files[0].closed)
		}
		next.end()
		if _, err := os.Stat(f.Target()); (err != nil) != c.deleted {
			t.Errorf("%s: %v; deleted, want %v", name, err, c.deleted)
		}
	}
}

// TestAgeAtItsLimit: a bag is deleted when it is older, and not before.
func TestAgeAtItsLimit(t *testing.T) {
	t.Parallel()
	b := closedBags(t, 1)
	r := New(Limits{Age: time.Hour}, zap.NewNop(), nil, keepNone)
	now := time.Now()
	f := retain(r, now, b...)[0]
	if r.Enforce(now.Add(time.Hour)); wasDeleted(r, f) {
		t.Error("deleted at the age that is kept")
	}
	if r.Enforce(now.Add(time.Hour + 1)); !wasDeleted(r, f) {
		t.Error("not deleted")
	}
}

// TestUnknownBagIsRecovered: of another output, or gone again. It is not taken up.
func TestUnknownBagIsRecovered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRun(t, dir, Limits{Files: 10})
	f := r.bag()
	if err := os.WriteFile(filepath.Join(dir, "foreign.bag"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r.r.adopt(r.s, "foreign.bag", "foreign.bag.orig.active") {
		t.Error("a bag of another output is taken up")
	}
	if err := os.Remove(f.Target()); err != nil {
		t.Fatal(err)
	}
	if r.r.adopt(r.s, filepath.Base(f.Target()), "x") {
		t.Error("a bag that is gone is taken up")
	}
	r.end()
}

// TestListOfFilesIsBounded: of those that no limit deletes the latest are listed. One that is
// written is always, and so is one that a limit may delete.
func TestListOfFilesIsBounded(t *testing.T) {
	t.Parallel()
	const most = 256
	for name, c := range map[string]struct {
		limits Limits
		pinned bool
		open   bool
		want   int
	}{
		"no limits":             {want: most},
		"pinned":                {limits: Limits{Files: 1000}, pinned: true, want: most},
		"that may be deleted":   {limits: Limits{Files: 1000}, want: most + 50},
		"written, without ends": {open: true, want: most + 50},
	} {
		r := New(c.limits, zap.NewNop(), nil, keepNone)
		s := testSeries(t, t.TempDir())
		for n := range most + 50 {
			f := r.Begin(disk.Place{Name: fmt.Sprint(n, ".bag"), Folder: s.Dir, Watchdog: s.Watchdog})
			if !c.open {
				r.Add(f, 0, c.pinned, time.Now())
			}
		}
		got := r.Pin(time.Time{})
		if len(got) != c.want || got[len(got)-1] != fmt.Sprint(most+49, ".bag") {
			t.Errorf("%s: %d files are listed, want %d", name, len(got), c.want)
		}
	}
}

// TestFindEntry: a bag is found by what it is, under any of the names that a crash or a repair
// leaves it; what cannot be looked at is not gone.
func TestFindEntry(t *testing.T) {
	t.Parallel()
	const unreadable = "no\x00name"
	for _, tc := range []struct {
		name  string
		files []string // the last one is the bag
		first string   // the name that the ledger has of it
		want  string
		gone  bool
	}{
		{"finished", []string{"a.bag"}, "", "a.bag", false},
		{"moved", []string{"a.bag", "moved.bag"}, "moved.bag", "moved.bag", false},
		{"active, and another of its name", []string{"a.bag", "a.bag.active"}, "", "a.bag.active", false},
		{"original, and others of its names", []string{"a.bag", "a.bag.active", "a.bag.orig.active"}, "", "a.bag.orig.active", false},
		{"after a name that cannot be looked at", []string{"a.bag"}, unreadable, "a.bag", false},
		{"gone", nil, "", "", true},
		{"gone, and others of its names", []string{"a.bag", "a.bag.active", "other.bag"}, "", "", true},
		{"perhaps gone", nil, unreadable, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := testSeries(t, t.TempDir())
			needIdentity(t, s)
			e := listedBag{entry: entry{Bag: "a.bag", Name: tc.first, ID: disk.Identity{Inode: 1, Born: 1}}}
			for _, name := range tc.files {
				if err := os.WriteFile(s.DirName+name, []byte(name), 0o600); err != nil {
					t.Fatal(err)
				}
				e.ID, _, _, _ = disk.Identify(s.Dir, name)
			}
			f, gone := e.find(s, time.Now())
			got := ""
			if f != nil {
				got = filepath.Base(f.Target())
			}
			if got != tc.want || gone != tc.gone {
				t.Errorf("found %q, gone %v; want %q, %v", got, gone, tc.want, tc.gone)
			}
			if f != nil && (f.bag != "a.bag" || f.known != e.ID || f.bytes != int64(len(tc.want))) {
				t.Errorf("%+v", f)
			}
		})
	}
}
