//go:build !gs

package store

import (
	"context"

	"gocloud.dev/blob"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// openGS returns an error: this build has no driver.
func openGS(_ context.Context, at place.Place) (*blob.Bucket, error) { return nil, errNoDriver(at) }
