package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGaps: a bag without a finding is told as such, several bags are told one after the other, and what cannot be read is
// an error.
func TestGaps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.bag"), filepath.Join(dir, "b.bag")
	makeBag(t, a, time.Unix(1_700_000_000, 0), []string{"/x", "/y", "/z"}, "robot=r1")
	makeBag(t, b, time.Unix(1_700_000_000, 0), []string{"/x"})
	for _, flags := range [][]string{nil, {"--index-only"}} {
		code, stdout, stderr := gobag(append([]string{"gaps", "-q", a, b}, flags...)...)
		want := a + ": no topic was silent or slow\n" + b + ": no topic was silent or slow\n"
		if code != 0 || stdout != want {
			t.Errorf("%q: %d %s%s, want\n%s", flags, code, stdout, stderr, want)
		}
	}
	if code, stdout, _ := gobag("gaps", "-q", "--json", b); code != 0 || stdout != `{"path":"`+b+`","findings":[],"nothing_recorded":[]}`+"\n" {
		t.Errorf("%d %s", code, stdout)
	}
	if code, _, stderr := gobag("gaps", "-q", filepath.Join(dir, "no.bag")); code != 1 || !strings.Contains(stderr, "no.bag") {
		t.Errorf("%d %s", code, stderr)
	}
}
