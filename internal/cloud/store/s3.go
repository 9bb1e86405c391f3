//go:build !nocloud

package store

import (
	"context"
	"errors"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/gocloud"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// hasS3 is set in builds with the driver of S3.
const hasS3 = true

// openS3 opens a bucket of S3.
func openS3(ctx context.Context, at place.Place, meter *put.Meter) (driver.Bucket, error) {
	b, err := blob.OpenBucket(ctx, at.BucketURL())
	if err != nil {
		return nil, at.Explain(err)
	}
	if b, err = checkedS3(ctx, at, b); err != nil {
		return nil, err
	}
	return &s3Bucket{&gocloud.Bucket{Blob: b, Meter: meter}, newSender(at, b, meter)}, nil
}

// s3Bucket uploads with a sender of its own.
type s3Bucket struct {
	driver.Bucket
	sender put.Sender
}

// PartBytes implements driver.Bucket.
func (b *s3Bucket) PartBytes(size int64) int64 { return put.PartBytes(size) }

// Put implements driver.Bucket.
func (b *s3Bucket) Put(ctx context.Context, _ string, f *put.File) error { return b.sender.Put(ctx, f) }

// checkedS3 replaces the client of an S3 bucket by one that checks the responses of the server and logs
// nothing. The driver has no option against the log of the SDK, which goes to standard error and would
// tear the live screen.
func checkedS3(ctx context.Context, at place.Place, b *blob.Bucket) (*blob.Bucket, error) {
	var client *s3.Client
	if !b.As(&client) {
		return nil, errors.Join(at.Fail(nil, "the driver of S3 has no client"), b.Close())
	}
	quiet := s3.New(client.Options(), func(o *s3.Options) {
		o.Logger = logging.Nop{}
		o.HTTPClient = newS3Client(o.HTTPClient)
	})
	sse := put.ParseEncryption(at)
	o := s3blob.Options{EncryptionType: sse.Kind}
	if sse.Key != nil {
		o.KMSEncryptionID = *sse.Key
	}
	silent, err := s3blob.OpenBucket(ctx, quiet, at.URL.Host, &o)
	if err = errors.Join(err, b.Close()); err != nil {
		return nil, at.Explain(err)
	}
	return silent, nil
}

// newS3Client returns an HTTP client with the settings of the SDK's own client, which accepts no http.RoundTripper
// and follows redirects without end.
func newS3Client(own s3.HTTPClient) s3.HTTPClient {
	buildable, ok := own.(*awshttp.BuildableClient)
	if !ok {
		buildable = awshttp.NewBuildableClient()
	}
	transport := buildable.GetTransport()
	transport.MaxResponseHeaderBytes = response.MaxHeaderBytes
	return &http.Client{Transport: response.Transport{Next: transport}, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch r.Response.StatusCode {
		case http.StatusTemporaryRedirect, http.StatusPermanentRedirect: // the others change the method
			if r.URL.Host != via[len(via)-1].URL.Host {
				r.Header.Del("X-Amz-Security-Token")
			}
			return nil
		}
		return http.ErrUseLastResponse
	}}
}

// newSender returns the sender for S3, nil for other stores.
func newSender(at place.Place, b *blob.Bucket, meter *put.Meter) put.Sender {
	var client *s3.Client
	if !b.As(&client) {
		return nil
	}
	return put.NewS3(client, at, meter)
}
