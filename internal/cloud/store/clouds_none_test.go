package store

import (
	"strings"
	"testing"
)

// TestNoDriver: a build without the SDKs of Google and Azure says how one is made that has them.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"gs://bucket/x.bag", "azblob://bucket/x.bag"} {
		_, err := Open(t.Context(), url)
		for _, err := range []error{err, CheckUploadURL(url)} {
			if err == nil || !strings.Contains(err.Error(), "make build CLOUD=1") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}
