package upload

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testTimeout = time.Minute

// testStore is a directory of bags and a directory in the role of the store.
type testStore struct {
	t       *testing.T
	dir, to string
	url     string
}

func newTestStore(t *testing.T) *testStore {
	t.Helper()
	r := &testStore{t: t, dir: t.TempDir(), to: t.TempDir()}
	r.url = "file://" + r.to
	return r
}

// start runs an uploader until the test ends, or stop is called.
func (r *testStore) start(change ...func(*Options)) (u *Uploader, stop func()) {
	r.t.Helper()
	u = r.stopped(change...)
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.Run(ctx)
	}()
	var stopped bool
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-done
	}
	r.t.Cleanup(stop)
	return u, stop
}

// stopped returns an uploader that does not run.
func (r *testStore) stopped(change ...func(*Options)) *Uploader {
	r.t.Helper()
	bucket, err := store.OpenBucket(r.t.Context(), r.url, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	o := Options{Bucket: bucket, Dir: r.dir, minRetryDelay: time.Millisecond, maxRetryDelay: 20 * time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	u, err := New(o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := errors.Join(u.Close(), bucket.Close()); err != nil {
			r.t.Error(err)
		}
	})
	return u
}

// record makes a finished bag of n random bytes.
func (r *testStore) record(u *Uploader, name string, n int) []byte {
	r.t.Helper()
	content := make([]byte, n)
	rand.Read(content)
	u.Begun(filepath.Join(r.dir, name))
	r.put(name, content)
	u.Finished(filepath.Join(r.dir, name), int64(n))
	return content
}

func (r *testStore) put(name string, content []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// stored checks what the store has.
func (r *testStore) stored(name string, want []byte) {
	r.t.Helper()
	got, err := os.ReadFile(filepath.Join(r.to, name))
	if err != nil || !bytes.Equal(got, want) {
		r.t.Errorf("%s: the store has %d bytes of %d, %v", name, len(got), len(want), err)
	}
	if st, err := os.Stat(filepath.Join(r.to, name)); err == nil && st.Mode().Perm() != 0o600 {
		r.t.Errorf("%s: others read the copy of a bag that they cannot read: %v", name, st.Mode())
	}
}

// away removes the directory of the store, as when a disk is unmounted, until back is called. An
// uploader must not make it again, on the disk of the system, whatever it is doing.
func (r *testStore) away() (back func()) {
	r.t.Helper()
	aside := r.to + ".away"
	if err := os.Rename(r.to, aside); err != nil {
		r.t.Fatal(err)
	}
	return func() {
		r.t.Helper()
		if _, err := os.Lstat(r.to); !errors.Is(err, fs.ErrNotExist) {
			r.t.Errorf("the directory was made again: %v", err)
		}
		if err := os.Rename(aside, r.to); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *testStore) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(r.dir, name))
	return err == nil
}

func (r *testStore) eventually(what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), testTimeout)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			r.t.Fatalf("not within %v: %s", testTimeout, what)
		}
	}
}

func TestUploadsWhatIsFinished(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, stop := r.start()
	a := r.record(u, "a_0.bag", 3<<20)
	b := r.record(u, "a_1.bag", 0)
	u.Begun(filepath.Join(r.dir, "a_2.bag"))
	r.eventually("two files are uploaded, and the third has its marker", func() bool { return u.Stats().Uploaded == 2 && r.exists(".a_2.bag.upload") })
	r.stored("a_0.bag", a)
	r.stored("a_1.bag", b)
	if !u.Keeps("a_2.bag") || u.Keeps("a_1.bag") || u.Keeps("other.bag") {
		t.Error("keeps the wrong files")
	}
	if !r.exists("a_0.bag") || r.exists(".a_0.bag.upload") {
		t.Error("bag deleted without --upload-delete, or its marker kept")
	}
	if s := u.Stats(); s.Waiting != 0 || s.UploadedBytes != 3<<20 || s.Sent != 3<<20 {
		t.Errorf("%+v", s)
	}
	stop()
}

// TestMetadata: objects have what is said of their files, and go without it if that is not known.
func TestMetadata(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, _ := r.start(func(o *Options) {
		o.Metadata = func(file io.ReaderAt, size int64) (map[string]string, error) {
			if size == 2 {
				return nil, errors.New("no bag")
			}
			b := make([]byte, size)
			_, err := file.ReadAt(b, 0)
			return map[string]string{"notes": hex.EncodeToString(b)}, err
		}
	})
	for n := 1; n <= 2; n++ {
		name := fmt.Sprintf("%d.bag", n)
		content := r.record(u, name, n)
		r.eventually(name+" is uploaded", func() bool { return u.Stats().Uploaded == n })
		r.stored(name, content)
		attrs, err := os.ReadFile(filepath.Join(r.to, name+".attrs"))
		if want := `"notes":"` + hex.EncodeToString(content) + `"`; err != nil || strings.Contains(string(attrs), want) != (n == 1) || !strings.Contains(string(attrs), `"sha256"`) {
			t.Errorf("%s: %s, %v", name, attrs, err)
		}
	}
}

// TestStoreIsAskedFirst: no bag is read for an attempt to upload it to a store that is away.
func TestStoreIsAskedFirst(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u := r.stopped(func(o *Options) {
		o.Metadata = func(io.ReaderAt, int64) (map[string]string, error) {
			t.Error("the notes of the bag were read")
			return nil, nil
		}
	})
	back := r.away()
	content := r.record(u, "a.bag", 1000)
	f := u.files[0]
	if err := u.uploadFile(t.Context(), f); err == nil || f.sums != nil {
		t.Errorf("%v; the bag was read: %t", err, f.sums != nil)
	}
	if s := u.Stats(); s.Store.State != Failing {
		t.Errorf("the store counts as %v", s.Store.State)
	}
	back()
	u.Metadata = nil
	if err := u.uploadFile(t.Context(), f); err != nil {
		t.Error(err)
	}
	r.stored("a.bag", content)
}

// TestMetadataIsReadOnce of a file, however many attempts its upload takes, unless it failed.
func TestMetadataIsReadOnce(t *testing.T) {
	t.Parallel()
	calls, fault := 0, errors.New("disk")
	u := &Uploader{Options: Options{Metadata: func(io.ReaderAt, int64) (map[string]string, error) {
		calls++
		return nil, fault // none, as of most bags
	}}}
	f := &file{sums: new(store.Sums)}
	if _, err := u.metadata(f, nil); err == nil {
		t.Error("no error")
	}
	fault = nil
	for range 3 {
		if _, err := u.metadata(f, nil); err != nil {
			t.Error(err)
		}
	}
	if calls != 2 {
		t.Errorf("read %d times", calls)
	}
}

// TestNextStart uploads what the recorder before did not, each file once, but neither
// what is recorded yet nor what is nobody's.
func TestNextStart(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, stop := r.start()
	back := r.away()
	a, b := r.record(u, "a.bag", 1000), r.record(u, "b.bag", 1000)
	u.Begun("c.bag")
	u.Begun("gone.bag")
	r.put("c.bag.active", nil)
	r.put("foreign.bag", nil)
	r.eventually("a try has failed", func() bool { return u.Stats().Err != "" && r.exists(".gone.bag.upload") })
	if s := u.Stats(); s.Waiting != 2 || s.WaitingBytes != 2000 {
		t.Errorf("%+v", s)
	}
	stop()

	back()
	u, stop = r.start()
	r.eventually("both are uploaded", func() bool { return u.Stats().Uploaded == 2 })
	r.stored("a.bag", a)
	r.stored("b.bag", b)
	if r.exists(".gone.bag.upload") || !r.exists(".c.bag.upload") {
		t.Error("markers of deleted bags are kept, or others lost")
	}
	c := []byte("recovered")
	r.put("c.bag", c)
	os.Remove(filepath.Join(r.dir, "c.bag.active"))
	u.Finished("c.bag", 9)
	u.Finished("foreign.bag", 0)
	u.Finish()
	r.eventually("the recovered one is uploaded", func() bool { return u.Stats().Uploaded == 3 })
	stop()
	r.stored("c.bag", c)
	entries, err := os.ReadDir(r.to)
	// The check of a store that goes away may leave its object there.
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".gorosbag-check") })
	if err != nil || len(entries) != 6 { // each with its attributes
		t.Errorf("the store has %v, %v", entries, err)
	}
}

// TestDelete deletes only what the store has proven to have.
func TestDelete(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, _ := r.start(func(o *Options) { o.Delete = true })
	a := r.record(u, "a.bag", 1000)
	r.eventually("it is uploaded", func() bool { return u.Stats().Uploaded == 1 })
	r.stored("a.bag", a)
	if r.exists("a.bag") || r.exists(".a.bag.upload") {
		t.Error("the bag or its marker is still here")
	}
}

// TestThereAlready finds the object of an upload whose end nobody knows of.
func TestThereAlready(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, stop := r.start()
	r.record(u, "a.bag", 1000)
	r.eventually("it is uploaded", func() bool { return u.Stats().Uploaded == 1 })
	stop()
	if err := os.WriteFile(filepath.Join(r.dir, ".a.bag.upload"), []byte(`{"to":"`+r.url+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	u, _ = r.start(func(o *Options) { o.Delete = true })
	r.eventually("it is known to be there", func() bool { return u.Stats().Uploaded == 1 })
	if s := u.Stats(); s.Sent != 0 {
		t.Errorf("%d bytes were sent again", s.Sent)
	}
	if r.exists("a.bag") {
		t.Error("not deleted")
	}
}

// TestOtherObject never writes over what it did not write.
func TestOtherObject(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	theirs := []byte("of another robot")
	if err := os.WriteFile(filepath.Join(r.to, "a.bag"), theirs, 0o600); err != nil {
		t.Fatal(err)
	}
	u, _ := r.start(func(o *Options) { o.Delete = true })
	r.record(u, "a.bag", 1000)
	b := r.record(u, "b.bag", 1000)
	r.eventually("the other file is uploaded", func() bool { return u.Stats().Uploaded == 1 })
	r.stored("a.bag", theirs)
	r.stored("b.bag", b)
	if s := u.Stats(); s.Refused != 1 || !r.exists("a.bag") || !strings.Contains(s.Text(), "1 file wait") {
		t.Errorf("%+v", s)
	}
}

// TestDeletedBefore counts a file that somebody deleted.
func TestDeletedBefore(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, _ := r.start()
	u.Begun("a.bag")
	u.Finished("a.bag", 10)
	r.eventually("the loss is known, and the marker gone", func() bool { return u.Stats().Lost == 1 && !r.exists(".a.bag.upload") })
	if u.Keeps("a.bag") {
		t.Error("it is still waited for")
	}
}

// TestDiedBetween: who deleted an uploaded file and died has lost nothing.
func TestDiedBetween(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, _ := r.start()
	u.Begun("a.bag")
	r.eventually("the marker is written", func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return len(u.unmarked) == 0
	})
	r.put(".a.bag.upload", []byte(`{"to":"`+r.url+`","uploaded":true}`))
	u.Finished("a.bag", 10)
	r.eventually("it is done", func() bool { return !r.exists(".a.bag.upload") })
	if s := u.Stats(); s.Lost != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

// TestOneThatFails: a file that the store does not take holds nobody up.
func TestOneThatFails(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	if err := os.Mkdir(filepath.Join(r.to, "a.bag.attrs"), 0o700); err != nil { // what the store keeps of it cannot be read
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.to, "a.bag"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u, _ := r.start()
	r.record(u, "a.bag", 1000)
	b := r.record(u, "b.bag", 1000)
	r.eventually("the other file is uploaded", func() bool { return u.Stats().Uploaded == 1 })
	r.stored("b.bag", b)
	if s := u.Stats(); s.Waiting != 1 || !u.Keeps("a.bag") {
		t.Errorf("%+v", s)
	}
}

// TestListOfFiles: a name is kept as long as a file of that name is in the list, and a file that is complete does not
// come back.
func TestListOfFiles(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u := r.stopped()
	u.Begun(filepath.Join(r.dir, "a.bag"))
	u.Begun(filepath.Join(r.dir, "b.bag"))
	u.Add(filepath.Join(r.dir, "a.bag"), time.Now(), 0)
	first, b, second := u.files[0], u.files[1], u.files[2]
	for _, step := range []struct {
		change func()
		left   []*file
		a, b   bool // is kept
	}{
		{func() { u.moveToBack(first) }, []*file{b, second, first}, true, true},
		{func() { u.complete(first, nil) }, []*file{b, second}, true, true},
		{func() { u.moveToBack(first) }, []*file{b, second}, true, true},
		{func() { u.complete(second, nil) }, []*file{b}, false, true},
		{func() { u.complete(b, nil) }, nil, false, false},
	} {
		step.change()
		if !slices.Equal(u.files, step.left) || u.Keeps("a.bag") != step.a || u.Keeps("b.bag") != step.b {
			t.Fatalf("%v are left, a.bag is kept: %t, b.bag: %t; want %+v", u.files, u.Keeps("a.bag"), u.Keeps("b.bag"), step)
		}
	}
}

// TestDeletedWhileAway: what is deleted while the store is away is known at the end.
func TestDeletedWhileAway(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, stop := r.start(func(o *Options) { o.minRetryDelay, o.maxRetryDelay = time.Hour, time.Hour })
	r.away()
	r.record(u, "a.bag", 10)
	r.record(u, "b.bag", 10)
	r.eventually("an attempt has failed, and both have markers", func() bool { return u.Stats().Failures == 1 && r.exists(".b.bag.upload") })
	if err := os.Remove(filepath.Join(r.dir, "b.bag")); err != nil {
		t.Fatal(err)
	}
	stop()
	if s := u.Stats(); s.Lost != 1 || s.Waiting != 1 || !r.exists(".a.bag.upload") || r.exists(".b.bag.upload") {
		t.Errorf("%+v", s)
	}
}

// TestTwoRecorders share a directory and a destination: no file is sent twice.
func TestTwoRecorders(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	u, stop := r.start()
	back := r.away()
	for _, name := range []string{"a.bag", "b.bag", "c.bag", "d.bag"} {
		r.record(u, name, 5<<20)
	}
	r.eventually("the markers are written", func() bool { return u.Stats().Err != "" && r.exists(".d.bag.upload") })
	stop()
	back()
	first, _ := r.start()
	second, _ := r.start()
	first.Finish()
	second.Finish()
	r.eventually("all is uploaded", func() bool {
		a, b := first.Stats(), second.Stats()
		return a.Waiting+b.Waiting == 0 && a.File == "" && b.File == ""
	})
	a, b := first.Stats(), second.Stats()
	if a.Uploaded+b.Uploaded < 4 || a.Sent+b.Sent != 20<<20 {
		t.Errorf("%+v, %+v", a, b)
	}

	logs, seen := observer.New(zap.InfoLevel)
	r.put("e.bag", nil)
	r.put(".e.bag.upload", []byte(`{"to":"s3://elsewhere"}`))
	r.put(".f.bag.upload", []byte(`{`))
	u, _ = r.start(func(o *Options) { o.Log = zap.New(logs) })
	u.Finish()
	if u.Keeps("e.bag") || !r.exists(".e.bag.upload") || !r.exists(".f.bag.upload") || seen.FilterMessageSnippet("another destination").Len() != 1 || seen.FilterMessageSnippet("not a valid marker file").Len() != 1 {
		t.Errorf("markers of others: %v", seen.All())
	}
}

// TestRate keeps to the limit.
func TestRate(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	bucket, err := store.OpenBucket(t.Context(), r.url, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Close() })
	u, _ := r.start(func(o *Options) { o.Bucket = bucket })
	began := time.Now()
	r.record(u, "a.bag", 2<<20)
	r.eventually("it is uploaded", func() bool { return u.Stats().Uploaded == 1 })
	if d := time.Since(began); d < 450*time.Millisecond {
		t.Errorf("2 MiB at 4 MiB/s took %v", d)
	}
}

// TestDatedFolder: the folder of a bag in the store is that of the time at which it was begun, also
// for a later start, and a failed Uploaded is called again before the bag is forgotten.
func TestDatedFolder(t *testing.T) {
	t.Parallel()
	r := newTestStore(t)
	dated := func(o *Options) {
		o.Object = func(name string, begun time.Time) string { return begun.Format("2006/01-02/") + name }
	}
	u, stop := r.start(dated)
	back := r.away()
	content := []byte("a bag")
	r.put("a.bag", content)
	begun := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	u.Add(filepath.Join(r.dir, "a.bag"), begun, 5)
	r.eventually("a try has failed, and the marker is written", func() bool { return u.Stats().Err != "" && r.exists(".a.bag.upload") })
	stop()
	back()

	var calls []string
	u, _ = r.start(func(o *Options) {
		o.Uploaded = func(_ context.Context, object string, size int64, sha256 string, _ io.ReaderAt) error {
			calls = append(calls, fmt.Sprint(object, " ", size, " ", len(sha256), " ", r.exists(".a.bag.upload")))
			if len(calls) == 1 {
				return errors.New("the store is away")
			}
			return nil
		}
	})
	r.eventually("it is uploaded", func() bool { return u.Stats().Uploaded == 1 })
	r.stored("2026/11-03/a.bag", content)
	if want := "2026/11-03/a.bag 5 64 true"; len(calls) != 2 || calls[0] != want || calls[1] != want {
		t.Errorf("%q", calls)
	}
	r.put("b.bag", nil)
	r.put(".b.bag.upload", []byte(`{"to":"`+r.url+`","object":"../b.bag"}`))
	if u, _ = r.start(); u.Keeps("b.bag") {
		t.Error("a marker leads out of the destination")
	}
}
