package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/rosbag"
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
		opened, err := open(t.Context(), io.Discard, zap.NewNop(), []string{tc.arg}, bags.Options{})
		got := fmt.Sprint(names(opened))
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestOpenErrors: what cannot be opened is named, with the reason.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, err := os.ReadFile("../../bagfmt/testdata/cpp_lz4.bag")
	if err != nil {
		t.Fatal(err)
	}
	unindexed := bytes.Clone(good)
	at := bytes.Index(unindexed, []byte("index_pos=")) + len("index_pos=")
	clear(unindexed[at : at+8])
	for name, data := range map[string]string{
		"good": string(good), "unindexed": string(unindexed), "text": "hello", "version": "#ROSBAG V3.0\n" + string(good[13:]), "empty": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, tc := range map[string]struct {
		wantErr error
		want    string // how the text begins
	}{
		dir + "/good":      {},
		dir + "/unindexed": {},
		dir + "/text":      {rosbag.ErrNotBag, "Error opening file: " + dir + "/text: "},
		dir + "/empty":     {rosbag.ErrNotBag, "Error opening file: " + dir + "/empty: "},
		dir + "/version":   {nil, "Error opening file: " + dir + "/version: is a bag version 3.0"},
		dir + "/missing":   {nil, "Error opening file: " + dir + "/missing: no such file"},
		os.DevNull:         {nil, "Error opening file: " + os.DevNull + ": is not a regular file"},
	} {
		_, err := openBag(t.Context(), path, bags.Options{})
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if !errors.As(err, new(*player.OpenError)) || !strings.HasPrefix(err.Error(), tc.want) || tc.wantErr != nil && !errors.Is(err, tc.wantErr) {
			t.Errorf("%s: got %v, want %q", path, err, tc.want)
		}
	}
}

// TestOpenIsInterrupted: a bag that is read wholly is given up when the context ends.
func TestOpenIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := openBag(ctx, "../../bagfmt/testdata/cpp_lz4.bag", bags.Options{})
	if !errors.Is(err, context.Canceled) || err.Error() != "Interrupted while opening ../../bagfmt/testdata/cpp_lz4.bag" {
		t.Errorf("got %v", err)
	}
}

func names(bags []*player.Bag) (all []string) {
	for _, b := range bags {
		all = append(all, b.Name())
	}
	return all
}
