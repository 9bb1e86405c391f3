//go:build !gs && !azblob

package store_test

import (
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// TestNoDriver: a build without the SDKs of Google and Azure says with which tags it would have them.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"gs://bucket/x.bag": "-tags gs", "azblob://bucket/x.bag": "-tags azblob"} {
		if _, err := store.Open(t.Context(), url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
