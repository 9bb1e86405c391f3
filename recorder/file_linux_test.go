package recorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestReserveOnARealFile: room is taken beyond the end and given back at the end.
func TestReserveOnARealFile(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	l := open(t, p, "/t", "/p")
	var file disk.Handle
	p.Current().Wrap(func(f disk.Handle) disk.Handle { file = f; return f })
	if file.Reserve(0, disk.LeastRoom) != nil || blocks(t, p.Current().Path()) < disk.LeastRoom {
		p.close()
		t.Skip("the file system of " + p.Current().Path() + " knows no fallocate")
	}
	testlink.PublishPlain(l, 3)
	p.UnblockLinks()
	testlink.WaitFor(t, func() bool { return p.Bags.Stored() > 0 })
	if n := blocks(t, p.Current().Path()); n < disk.LeastRoom+30_000 {
		t.Errorf("%d bytes of blocks while recording, want %d more than are written", n, disk.LeastRoom)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if n := blocks(t, p.Current().Target()); n > disk.LeastRoom/2 {
		t.Errorf("%d bytes of blocks after the end", n)
	}
}

// blocks returns how much of the disk a file takes.
func blocks(t *testing.T, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// publishUntil publishes a chunk now and then until ok.
func publishUntil(t *testing.T, l *intake.Link, ok func() bool) (sent uint32) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-again.C {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
		l.Frames(testlink.Frame(1, sent, 30_000), 1, time.Now())
		sent++
	}
	return sent
}

// TestDirectoryThatIsDeleted: the error of the recording says once what is lost, and once why there is no next file.
func TestDirectoryThatIsDeleted(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	p := testPipeline(t, Options{ChunkBytes: 20 << 10, Log: zap.New(core)}, nil)
	l := open(t, p, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 30_000), 1, time.Now())
	testlink.WaitFor(t, func() bool { return p.Bags.Stored() > 0 })
	if err := os.RemoveAll(filepath.Dir(p.Current().Path())); err != nil {
		t.Fatal(err)
	}
	publishUntil(t, l, func() bool { return logs.FilterMessage("no new file after the fault").Len() > 0 })
	err := p.close()
	if err == nil {
		t.Fatal("no error")
	}
	for _, text := range []string{bagfile.ErrDeleted.Error(), "cannot open"} {
		if n := strings.Count(err.Error(), text); n != 1 {
			t.Errorf("%d times %q in: %v", n, text, err)
		}
	}
}

// TestFileThatLosesItsName: the recording goes on in another one. What was in a deleted
// file is lost and counted; a file that was moved is complete where it is.
func TestFileThatLosesItsName(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir() + "/elsewhere.bag"
	tests := map[string]struct {
		lose func(active string) error
		want error // of the recording: a file that is moved is no loss
		said string
	}{
		"deleted": {os.Remove, bagfile.ErrDeleted, "was deleted"},
		"moved":   {func(active string) error { return os.Rename(active, elsewhere) }, nil, "was moved away"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.WarnLevel)
			p := testPipeline(t, Options{ChunkBytes: 20 << 10, Overflow: OverflowBlock, Log: zap.New(core)}, nil)
			l := open(t, p, "/t", "/p")
			first := p.Current()
			l.Frames(testlink.Frame(1, 0, 30_000), 1, time.Now())
			testlink.WaitFor(t, func() bool { return p.Bags.Stored() > 0 })
			if err := tc.lose(first.Path()); err != nil {
				t.Fatal(err)
			}
			// Message 0 was sent; the others are numbered from 0, too.
			sent := 1 + publishUntil(t, l, func() bool { return p.Current() != first })
			l.Frames(testlink.Frame(1, 1e6, 30_000), 1, time.Now())
			sent++
			if err := p.close(); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			said := logs.Filter(func(e observer.LoggedEntry) bool { return e.Message != "slow disk" }).All() // that may be
			for _, e := range said {                                                                         // once when it goes on elsewhere, once when the file is closed
				if text := fmt.Sprint(e.ContextMap()); !strings.Contains(text, tc.said) || (e.Level == zap.ErrorLevel) != (tc.want != nil) {
					t.Errorf("said %v: %s", e.Entry, text)
				}
			}
			if len(said) != 2 {
				t.Errorf("said %v", said)
			}
			byTime, _ := testlink.Numbers(t, p.Current().Target())
			inSecond := uint64(len(byTime[1]))
			topic := accountOf(p, l)
			if inSecond < 2 || byTime[1][inSecond-1] != 1e6 {
				t.Errorf("the second file holds %v", byTime[1])
			}
			lost, bytes := uint64(sent)-inSecond, payloadBytes(t, p.Current().Target(), "/t")
			if tc.want == nil {
				bytes += payloadBytes(t, elsewhere, "/t")
				byTime, _ := testlink.Numbers(t, elsewhere)
				if n := uint64(len(byTime[1])); n != lost {
					t.Errorf("%d messages in the file that was moved, want %d", n, lost)
				}
				lost = 0
			}
			if topic.Dropped[control.DropDeleted.String()] != lost || topic.Messages != uint64(sent)-lost {
				t.Errorf("%d messages counted and %d lost of %d; want %d lost", topic.Messages, topic.Dropped[control.DropDeleted.String()], sent, lost)
			}
			if topic.Bytes != bytes {
				t.Errorf("%d bytes counted, %d are in the bags", topic.Bytes, bytes)
			}
		})
	}
}

// TestDirectoryThatMoves: the bags stay in the directory, under its new path, which is what
// is reported from then on.
func TestDirectoryThatMoves(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(dir string) error{
		"renamed":               func(string) error { return nil },
		"replaced by a symlink": func(dir string) error { return os.Symlink(os.TempDir(), dir) },
		"replaced":              func(dir string) error { return os.Mkdir(dir, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.WarnLevel)
			p := testPipeline(t, Options{ChunkBytes: 20 << 10, Overflow: OverflowBlock, Log: zap.New(core)}, nil)
			l := open(t, p, "/t", "/p")
			dir, base := filepath.Split(p.Current().Target())
			dir = filepath.Clean(dir)
			moved := dir + "-moved"
			if err := errors.Join(os.Rename(dir, moved), replace(dir)); err != nil {
				t.Fatal(err)
			}
			said := func() []observer.LoggedEntry { return logs.FilterMessageSnippet("directory was renamed").All() }
			sent := publishUntil(t, l, func() bool { return len(said()) > 0 })
			if got, want := p.Current().Path(), filepath.Join(moved, base+".active"); got != want {
				t.Errorf("recording to %s, want %s", got, want)
			}
			if err := p.close(); err != nil {
				t.Error(err)
			}
			s := p.Bags.Finished.Account()
			want := filepath.Join(moved, base)
			if s.File != want || len(s.Files) != 1 || s.Files[0].File != want {
				t.Errorf("files of the summary: %s, %v, want %s", s.File, s.Files, want)
			}
			byTime, _ := testlink.Numbers(t, s.File)
			if len(byTime[1]) != int(sent) {
				t.Errorf("%d messages in the bag, want %d", len(byTime[1]), sent)
			}
			if all := said(); len(all) != 1 || all[0].ContextMap()["path"] != moved {
				t.Errorf("logged %v", all)
			}
		})
	}
}

// payloadBytes sums up the messages of a topic in a bag.
func payloadBytes(t *testing.T, path, topic string) (n uint64) {
	t.Helper()
	for m, err := range rosbag.Messages(testlink.OpenBag(t, path), rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Conn.Topic == topic {
			n += uint64(len(m.Data()))
		}
	}
	return n
}
