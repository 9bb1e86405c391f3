package store

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// hasClouds is set in builds with the drivers of Google and Azure. Those have clouds/store.go.txt in
// place of this file.
const hasClouds = false

// openCloud returns an error: this build has no driver.
func openCloud(_ context.Context, at place.Place, _ *put.Meter) (driver.Bucket, error) {
	return nil, errNoDriver(at)
}
