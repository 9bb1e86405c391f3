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

// TestAudit finds a changed byte, a bag that is gone and one that nobody can vouch for.
func TestAudit(t *testing.T) {
	t.Parallel()
	to := auditedStore(t, 4)
	journal := filepath.Join(t.TempDir(), "journal")
	audit := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := gobag(append([]string{"audit", "--journal", journal}, args...)...)
		if code != want {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		return stdout + stderr
	}
	if out := audit(0, to); out != "4 bags verified, 0 defects\n" {
		t.Error(out)
	}
	bad := filepath.Join(to, "01.bag")
	b, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	makeBag(t, filepath.Join(to, "new.bag"), time.Unix(1_700_000_000, 0), []string{"/t"})
	if err := os.WriteFile(bad, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(to, "03.bag")); err != nil {
		t.Fatal(err)
	}
	out := audit(3, "file://"+to)
	for _, want := range []string{"/01.bag: is damaged: its SHA-256 is ", "/03.bag: is in the catalog, but not in the store", "/new.bag: has no checksum", "3 bags verified, 1 not verified, 3 defects\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out := audit(3, "--json", "-q", to); strings.Count(out, `"defect":`) != 3 || strings.Count(out, "\n") != 3 {
		t.Error(out)
	}
	if out := audit(1, filepath.Join(to, "nothing")); !strings.Contains(out, "no such file") {
		t.Error(out)
	}
	if out := audit(1, t.TempDir()); !strings.Contains(out, "no bags there") {
		t.Error(out)
	}
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

// TestAuditJournal: only the journal of an audit of the same place is used, and deleted.
func TestAuditJournal(t *testing.T) {
	t.Parallel()
	place, other := auditedStore(t, 2), auditedStore(t, 2)
	for name, test := range map[string]struct {
		text string // of the journal, PLACE for the name of the place
		code int
		want string
	}{
		"precious":       {"precious\n", 1, "is not that of an audit of "},
		"a bag":          {"#ROSBAG V2.0\n", 1, "is not that of an audit of "},
		"a long line":    {strings.Repeat("x", 1<<17), 1, "is not that of an audit of "},
		"another place":  {"{\"audit of\":\"file://" + other + "\"}\n{\"bag\":\"x\"}", 1, "is not that of an audit of "},
		"empty":          {"", 0, "2 bags verified, 0 defects"},
		"torn":           {"{\"audit o", 0, "2 bags verified, 0 defects"},
		"without a line": {"{\"audit of\":\"PLACE\"}", 0, "2 bags verified, 0 defects"},
		"torn verdict":   {"{\"audit of\":\"PLACE\"}\n{\"bag", 0, "2 bags verified, 0 defects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := filepath.Join(t.TempDir(), "journal")
			text := strings.ReplaceAll(test.text, "PLACE", "file://"+place)
			if err := os.WriteFile(journal, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := gobag("audit", "--journal", journal, place)
			if code != test.code || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
			b, err := os.ReadFile(journal)
			if kept := err == nil && string(b) == text; kept != (code == 1) {
				t.Errorf("left: %q, %v", b, err)
			}
		})
	}
}

// TestAuditJournalDevice: what is no regular file is not written to, and not deleted.
func TestAuditJournalDevice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, _, stderr := gobag("audit", "--journal", dir, auditedStore(t, 1))
	if code != 1 || !strings.Contains(stderr, dir+" is no regular file; name another file with --journal") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
