package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemoteAdvice: commands that take local files only are not recommended for URLs.
func TestRemoteAdvice(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn.bag")
	if err := os.WriteFile(path, good[:len(good)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"info"}} {
		for _, test := range []struct{ place, want, not string }{{path, "gobag reindex", "gobag convert"}, {"file://" + path, "gobag convert", "gobag reindex"}} {
			code, stdout, stderr := gobag(append(args, test.place)...)
			if out := stdout + stderr; code != 3 || !strings.Contains(out, test.want) || strings.Contains(out, test.not) {
				t.Errorf("%v %s: exit code %d\n%s", args, test.place, code, out)
			}
		}
	}
}
