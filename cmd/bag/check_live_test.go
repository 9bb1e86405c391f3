package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/files"
)

// TestCheckWhileRecording: what a bag lacks at its end while it is recorded is no damage; other damage is.
func TestCheckWhileRecording(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(demoBag)
	if err != nil {
		t.Fatal(err)
	}
	cut := whole[:len(whole)/2]
	damaged := append([]byte(nil), cut...)
	damaged[len(cut)/2] ^= 0x55
	for name, tc := range map[string]struct {
		bag    []byte
		locked bool
		code   int
		want   string
	}{
		"recorded":             {cut, true, 0, "is being recorded: "},
		"recorded and damaged": {damaged, true, 3, "damaged in "},
		"ended":                {cut, false, 3, "damaged in "},
	} {
		path := write(t, "live.bag.active", tc.bag)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if tc.locked && !files.Lock(f) {
			t.Fatal("not locked")
		}
		code, stdout, stderr := gobag("check", path)
		if code != tc.code || !strings.Contains(stdout, tc.want) || stderr != "" {
			t.Errorf("%s: code %d, %s%s", name, code, stdout, stderr)
		}
		if _, stdout, _ := gobag("check", "--json", path); strings.Contains(stdout, `"recording":true`) != tc.locked {
			t.Errorf("%s: %s", name, stdout)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "live.bag.active"), cut, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"info", "check"} {
		if code, _, stderr := gobag(command, filepath.Join(dir, "live.bag")); code != 1 || !strings.Contains(stderr, "no such file; live.bag.active is there: it is being recorded, or was not closed") {
			t.Errorf("%s: code %d, %s", command, code, stderr)
		}
	}
}
