//go:build !azblob

package store

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// hasAzure is set in builds with the driver of Azure.
const hasAzure = false

// openAzure returns an error: this build has no driver.
func openAzure(_ context.Context, at place.Place, _ *put.Meter) (driver.Bucket, error) {
	return nil, errNoDriver(at)
}
