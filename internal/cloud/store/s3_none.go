//go:build nocloud

package store

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// hasS3 is set in builds with the driver of S3.
const hasS3 = false

// openS3 returns an error: this build has no driver.
func openS3(_ context.Context, at place.Place, _ *put.Meter) (driver.Bucket, error) {
	return nil, errNoDriver(at)
}
