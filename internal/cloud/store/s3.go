package store

import (
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/s3"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// openS3 opens a bucket of S3.
func openS3(at place.Place, meter *put.Meter) (driver.Bucket, error) {
	b, err := s3.New(at, meter)
	if err != nil { // not a nil *s3.Bucket
		return nil, err
	}
	return b, nil
}
