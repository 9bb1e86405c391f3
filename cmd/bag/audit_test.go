package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

// auditedStore is a directory in the role of a store, with uploaded bags.
func auditedStore(t *testing.T, bags int) (to string) {
	t.Helper()
	dir, to := t.TempDir(), t.TempDir()
	for i := range bags {
		makeBag(t, filepath.Join(dir, fmt.Sprintf("%02d.bag", i)), time.Unix(1_700_000_000, 0), []string{"/t"})
	}
	if code, _, stderr := gobag("upload", "-q", "--all", dir, "file://"+to); code != 0 {
		t.Fatal(stderr)
	}
	return to
}

// TestAuditResumed: an audit that was interrupted verifies the rest.
func TestAuditResumed(t *testing.T) {
	t.Parallel()
	to := auditedStore(t, 30)
	journal := filepath.Join(t.TempDir(), "journal")
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	done := make(chan int)
	go func() { // of 30 bags of 5 kB, the burst of the limit lets some through
		done <- run(ctx, []string{"audit", "--rate", "1", "--journal", journal, to}, job.NewOutput(strings.NewReader(""), &stdout, &stderr))
	}()
	for deadline := time.Now().Add(time.Minute); ; {
		if b, _ := os.ReadFile(journal); bytes.Count(b, []byte("\n")) > 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is verified")
		}
		select {
		case code := <-done:
			t.Fatalf("exit code %d\n%s", code, &stderr)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	if code := <-done; code != 1 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "verified so far; the same command continues there") {
		t.Errorf("exit code %d\n%s", code, &stderr)
	}
	code, _, text := gobag("audit", "--journal", journal, to)
	if code != 0 || !strings.HasPrefix(text, "30 bags verified, ") || !strings.HasSuffix(text, " of them before, 0 defects\n") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal of a complete audit is kept")
	}
}
