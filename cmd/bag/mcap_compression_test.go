package main

import (
	"path/filepath"
	"testing"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestMCAPKeepsItsCompression checks that MCAP that is made of MCAP is compressed as that was, unless something else is named.
func TestMCAPKeepsItsCompression(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"none", "lz4", "zstd"} {
		dir, again := t.TempDir(), t.TempDir()
		in, out := filepath.Join(dir, "in.mcap"), filepath.Join(dir, "out.mcap")
		if code, _, stderr := gobag("convert", "-q", "--compression", compression, demoBag, in); code != 0 {
			t.Fatalf("%d, %s", code, stderr)
		}
		for path, args := range map[string][]string{
			out:                             {"filter", "-q", in, out},
			filepath.Join(again, "in.mcap"): {"reindex", "-q", "--output-dir", again, in},
		} {
			if code, _, stderr := gobag(args...); code != 0 {
				t.Fatalf("%v: %d, %s", args, code, stderr)
			}
			r, err := bags.Open(t.Context(), path, bags.Options{})
			if err != nil {
				t.Fatal(err)
			}
			h, err := r.Bag().ChunkHeader(0)
			if got := h.Compression; err != nil || got != rosbag.Compression(compression) {
				t.Errorf("%v of %s: compression %q, %v", args[0], compression, got, err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
