package recorder

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

// TestReserveOnARealFile: room is taken beyond the end and given back at the end.
func TestReserveOnARealFile(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	l := open(t, p, "/t", "/p")
	if p.out.file.Reserve(0, 1<<20) != nil || blocks(t, p.out.sealed) < 1<<20 {
		p.close()
		t.Skip("the file system of " + p.out.sealed + " knows no fallocate")
	}
	publishPlain(l, 3)
	p.lastCall()
	waitFor(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.stored > 0 })
	if n := blocks(t, p.out.sealed); n < reserveLeast+30_000 {
		t.Errorf("%d bytes of blocks while recording, want %d more than are written", n, reserveLeast)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if n := blocks(t, p.out.target); n > reserveLeast/2 {
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
func publishUntil(t *testing.T, l *link, ok func() bool) (sent uint32) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-again.C {
		if time.Now().After(deadline) {
			t.Fatal("not within 20 s")
		}
		l.Frames(frame(1, sent, 30_000), 1, time.Now())
		sent++
	}
	return sent
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
		"deleted": {os.Remove, errDeleted, "was deleted"},
		"moved":   {func(active string) error { return os.Rename(active, elsewhere) }, nil, "was moved away"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.WarnLevel)
			p := testPipeline(t, Options{ChunkBytes: 20 << 10, Overflow: OverflowBlock, Log: zap.New(core)}, nil)
			l := open(t, p, "/t", "/p")
			first := p.out
			l.Frames(frame(1, 0, 30_000), 1, time.Now())
			waitFor(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.stored > 0 })
			if err := tc.lose(first.sealed); err != nil {
				t.Fatal(err)
			}
			// Message 0 was sent; the others are numbered from 0, too.
			sent := 1 + publishUntil(t, l, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.out != first })
			l.Frames(frame(1, 1e6, 30_000), 1, time.Now())
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
			byTime, _ := numbers(t, p.out.target)
			inSecond := uint64(len(byTime[1]))
			topic := l.connection.topic
			if inSecond < 2 || byTime[1][inSecond-1] != 1e6 {
				t.Errorf("the second file holds %v", byTime[1])
			}
			lost := uint64(sent) - inSecond
			if tc.want == nil {
				byTime, _ := numbers(t, elsewhere)
				if n := uint64(len(byTime[1])); n != lost {
					t.Errorf("%d messages in the file that was moved, want %d", n, lost)
				}
				lost = 0
			}
			if topic.dropped[dropDeleted] != lost || topic.messages != uint64(sent)-lost {
				t.Errorf("%d messages counted and %d lost of %d; want %d lost", topic.messages, topic.dropped[dropDeleted], sent, lost)
			}
		})
	}
}
