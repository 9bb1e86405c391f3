package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player"
)

// TestOpenNames opens the bags that directories and patterns stand for.
func TestOpenNames(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("../../bagfmt/testdata/cpp_lz4.bag")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"a.bag", "b.bag", "b.orig.bag"} {
		if err := os.WriteFile(filepath.Join(dir, name), good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		arg, want string
	}{
		"file":            {dir + "/b.bag", "[" + dir + "/b.bag]"},
		"directory":       {dir, "[" + dir + "/a.bag " + dir + "/b.bag]"},
		"pattern":         {dir + "/?.bag", "[" + dir + "/a.bag " + dir + "/b.bag]"},
		"empty directory": {empty, empty + ": no bags in this directory"},
	} {
		bags, err := open(t.Context(), io.Discard, zap.NewNop(), []string{tc.arg}, 0)
		got := fmt.Sprint(names(bags))
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		for _, b := range bags {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func names(bags []*player.Bag) (all []string) {
	for _, b := range bags {
		all = append(all, b.Name())
	}
	return all
}
