package upload_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/upload"
)

// TestPending: bags count that wait, for whatever place, and nothing else in the directory.
func TestPending(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".waits.bag.upload":    `{"to":"s3://a"}`,
		"waits.bag":            "",
		".gone.bag.upload":     `{"to":"s3://a"}`,
		".uploaded.bag.upload": `{"to":"s3://a","uploaded":true}`,
		".damaged.bag.upload":  `{`,
		"no_mark.bag.upload":   `{"to":"s3://a"}`,
		".other.upload.txt":    `{"to":"s3://a"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := upload.Pending(dir); !maps.Equal(got, map[string]bool{"waits.bag": true}) {
		t.Errorf("%v", got)
	}
	if got := upload.Pending(filepath.Join(dir, "nothing")); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
