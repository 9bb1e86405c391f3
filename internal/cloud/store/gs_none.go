//go:build !gs

package store

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// hasGS is set in builds with the driver of Google.
const hasGS = false

// openGS returns an error: this build has no driver.
func openGS(_ context.Context, at place.Place, _ *put.Meter) (driver.Bucket, error) {
	return nil, errNoDriver(at)
}
