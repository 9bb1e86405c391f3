package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// listing is a response of S3 to a request for a list.
type listing struct {
	XMLName  xml.Name `xml:"ListBucketResult"`
	Contents []listedObject
}

type listedObject struct {
	Key, ETag, LastModified string
	Size                    int
}

// TestOddNamesInStore: objects whose names no path can have are named, and not passed over.
func TestOddNamesInStore(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_REGION", "us-east-1")
	names := []string{"/x.bag", "d//x.bag", "../y.bag"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var l listing
		for _, name := range names {
			l.Contents = append(l.Contents, listedObject{name, "x", "2026-11-28T00:00:00Z", 5})
		}
		if r.URL.Query().Get("list-type") == "" {
			http.NotFound(w, r)
			return
		}
		_ = xml.NewEncoder(w).Encode(l)
	}))
	defer server.Close()
	place := "s3://bags?use_path_style=true&endpoint=" + server.URL
	for _, command := range []string{"audit --journal " + filepath.Join(t.TempDir(), "journal"), "find size>0", "index"} {
		code, stdout, stderr := gobag(append(strings.Fields(command), place)...)
		for _, name := range names {
			if !strings.Contains(stdout+stderr, "is the name of an object that no path can have") || code != 3 && code != 1 {
				t.Errorf("%s: %s is not named: code %d\n%s%s", command, name, code, stdout, stderr)
			}
		}
		if strings.HasPrefix(command, "audit") && (code != 3 || !strings.Contains(stderr, fmt.Sprintf("0 bags verified, %d not verified, %d defects", len(names), len(names)))) {
			t.Errorf("code %d\n%s%s", code, stdout, stderr)
		}
	}
}
