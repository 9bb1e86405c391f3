package store

import (
	"gocloud.dev/blob"

	"github.com/gorosbag/gorosbag/internal/store/internal/place"
)

// CheckUploadURL returns an error if a URL cannot be that of a place to upload to. The store is not
// asked.
func CheckUploadURL(raw string) error {
	at, err := place.Parse(raw)
	if err == nil && !blob.DefaultURLMux().ValidBucketScheme(at.URL.Scheme) {
		err = errNoDriver(at)
	}
	return err
}
