package store

import "gocloud.dev/blob"

// CheckUploadURL returns an error if a URL cannot be that of a place to upload to. The store is not
// asked.
func CheckUploadURL(raw string) error {
	at, err := parse(raw)
	if err == nil && !blob.DefaultURLMux().ValidBucketScheme(at.url.Scheme) {
		err = errNoDriver(at)
	}
	return err
}
