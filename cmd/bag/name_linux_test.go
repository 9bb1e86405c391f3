package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNamesThatAreNotUTF8: old machines have names of files in other encodings.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	path := write(t, "gr\xfcn.bag", readFile(t, goodBag))
	out := filepath.Join(filepath.Dir(path), "bl\xe5.bag")
	for _, args := range [][]string{{"info", path}, {"convert", path, out}, {"merge", "-o", out, "-f", path}} {
		if code, _, stderr := gobag(args...); code != 0 {
			t.Errorf("%q: code %d, %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}
