package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

// TestRootedNameInCatalog: a line of a catalog that names no path below the place is damage of the catalog. It made find
// and index spin for ever.
func TestRootedNameInCatalog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeBag(t, filepath.Join(dir, "r1", "a.bag"), time.Unix(1_700_000_000, 0), []string{"/t"})
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(`{"bag":"/etc/passwd","size":5,"topics":[{"topic":"/t"}]}` + "\n"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "r1", ".gorosbag-catalog")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "pack-x.jsonl.gz"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, tc := range []struct {
		command, want string
		code          int
	}{
		{"find topic==\"/t\" DIR", "/a.bag\n", 3},
		{"index DIR", "\"/etc/passwd\" is no name of a bag below the place", 3},
		{"find topic==\"/t\" DIR", "/a.bag\n", 0}, // index has made another
	} {
		var out bytes.Buffer
		code := run(ctx, strings.Fields(strings.ReplaceAll(tc.command, "DIR", dir)), job.NewOutput(strings.NewReader(""), &out, &out))
		if code != tc.code || !strings.Contains(out.String(), tc.want) || strings.Contains(out.String(), "passwd\n") {
			t.Errorf("%s: code %d, %s", tc.command, code, &out)
		}
	}
}
