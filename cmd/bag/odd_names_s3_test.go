package main

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

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
