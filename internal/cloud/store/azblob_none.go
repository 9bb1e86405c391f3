//go:build !azblob

package store

import (
	"context"
	"errors"
	"io"

	"gocloud.dev/blob"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// checkedAzure returns the bucket: no driver opens one of Azure.
func checkedAzure(_ context.Context, _ place.Place, b *blob.Bucket) (*blob.Bucket, error) {
	return b, nil
}

// uploadAzure returns an error: no driver opens a bucket of Azure.
func uploadAzure(context.Context, *blob.Bucket, string, io.Reader, *blob.WriterOptions) error {
	return errors.ErrUnsupported
}
