package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLeftoversOfKilledRun: every command that writes removes what a run that was killed has left beside its output.
func TestLeftoversOfKilledRun(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"filter IN DIR/o.bag true", "convert IN DIR/o.mcap", "convert IN DIR/o --to ros2", "merge -o DIR/o.bag IN", "compress IN", "reindex IN", "decompress --output-dir DIR/sub IN",
		"split --topic IN DIR/o",
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "in.bag")
		for _, path := range []string{in, filepath.Join(dir, ".in.bag.ABCDEFGH.tmp"), filepath.Join(dir, "sub", ".in.bag.ABCDEFGH.tmp")} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, _, stderr := gobag(strings.Fields(strings.NewReplacer("IN", in, "DIR", dir).Replace(command))...)
		where := dir
		if strings.Contains(command, "DIR/sub") {
			where = filepath.Join(dir, "sub")
		}
		if code != 0 || !strings.Contains(stderr, "removed .in.bag.ABCDEFGH.tmp, which a run that was killed has left") || slices.Contains(names(t, where), ".in.bag.ABCDEFGH.tmp") {
			t.Errorf("%s: code %d, %s%q", command, code, stderr, names(t, where))
		}
	}
}
