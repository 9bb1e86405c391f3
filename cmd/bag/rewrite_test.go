package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

// piped runs the program with standard input.
func piped(in io.Reader, args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, job.NewOutput(in, &o, &e))
	return code, o.String(), e.String()
}

// counts runs gobag info and returns the messages of each topic.
func counts(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	code, stdout, stderr := gobag("info", "--json", path)
	var v struct {
		Version string
		Indexed bool
		Topics  []struct {
			Topic    string
			Messages uint64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
		t.Fatalf("info: code %d, %v, %s", code, err, stderr)
	}
	if v.Version != "2.0" || !v.Indexed {
		t.Errorf("%s is of version %s, indexed: %v", path, v.Version, v.Indexed)
	}
	m := make(map[string]uint64)
	for _, topic := range v.Topics {
		m[topic.Topic] = topic.Messages
	}
	return m
}

// TestRewriteEmptyTopic rewrites a bag that has a connection without messages: only that connection is left out.
func TestRewriteEmptyTopic(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.bag")
	writeSent(t, path, bagfmt.WriterOptions{}, run100())
	in := write(t, "in.bag", withEmptyTopic(t, readFile(t, path), "/empty"))
	for _, command := range []string{"compress", "decompress", "reindex", "convert", "filter", "merge"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := filepath.Join(dir, "in.bag")
			args := []string{command, "-q", "--output-dir", dir, in}
			switch command {
			case "convert", "filter":
				args = []string{command, "-q", in, out}
			case "merge":
				args = []string{command, "-q", "-o", out, in}
			}
			if code, _, stderr := gobag(args...); code != 0 || stderr != "" {
				t.Fatalf("code %d: %s", code, stderr)
			}
			if code, stdout, _ := gobag("diff", path, out); code != 0 || !strings.HasPrefix(stdout, "Same: 121 messages on 3 topics\n") {
				t.Errorf("code %d\n%s", code, stdout)
			}
		})
	}
}

// TestDamagedAnywhere flips bits all over a bag: what is copied without complaint is
// complete, and nothing but results is left behind.
func TestDamagedAnywhere(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	codes := make(map[int]int)
	t.Run("bits", func(t *testing.T) {
		const places, workers = 60, 6 // each place costs an fsync or two: they wait together
		step := 1 + len(good)/places
		for first := range workers {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				for at := first * step; at < len(good); at += workers * step {
					code := damagedAt(t, good, at)
					mu.Lock()
					codes[code]++
					mu.Unlock()
				}
			})
		}
	})
	if codes[0] == 0 || codes[1] == 0 || codes[3] == 0 {
		t.Errorf("not every kind of damage was met: %v", codes)
	}
}

// damagedAt converts a bag with one wrong bit, and returns the exit code.
func damagedAt(t *testing.T, good []byte, at int) int {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.bag"), filepath.Join(dir, "o.bag")
	bad := bytes.Clone(good)
	bad[at] ^= 1 << (at % 8)
	if err := os.WriteFile(in, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := gobag("convert", "-f", "-q", in, out)
	switch code {
	case 0:
		n := uint64(0)
		for _, messages := range counts(t, out) {
			n += messages
		}
		if n != 26 {
			t.Errorf("bit at %d: %d messages and no complaint", at, n)
		}
	case 1, 3:
		if stderr == "" {
			t.Errorf("bit at %d: code %d without a word", at, code)
		}
	default:
		t.Errorf("bit at %d: code %d, %s", at, code, stderr)
	}
	_ = os.Remove(out) // not there if the code was 1
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("bit at %d: left behind: %v", at, left)
	}
	return code
}

// TestInterrupted ends a command that waits for more input.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	defer w.Close()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// The command has made its file when it wants more than the head of the bag.
		_, _ = w.Write(good[:4200])
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for len(names(t, dir)) == 0 && ctx.Err() == nil {
			<-again.C
		}
		cancel()
	}()
	var stderr bytes.Buffer
	code := run(ctx, []string{"convert", "-", filepath.Join(dir, "o.bag")}, job.NewOutput(r, io.Discard, &stderr))
	if code != 1 || stderr.String() != "gobag: interrupted; what was not complete is removed\n" {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
