//go:build gs

package store

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"

	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob" // gs://
	"gocloud.dev/gcp"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"

	"github.com/gorosbag/gorosbag/internal/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/store/place"
)

// checkedGS replaces the client of a bucket of Google by one that checks the responses of the server.
// With grpc=true or zonal=true in the URL there is no HTTP, and gRPC has its own limits. The client
// for an emulator cannot be replaced.
func checkedGS(ctx context.Context, at place.Place, b *blob.Bucket) (*blob.Bucket, error) {
	q := at.URL.Query()
	grpc, _ := strconv.ParseBool(q.Get("grpc")) // the driver has checked the parameters
	zonal, _ := strconv.ParseBool(q.Get("zonal"))
	if grpc || zonal || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return b, nil
	}
	transport := response.Transport{Next: response.NewTransport()}
	anonymous, _ := strconv.ParseBool(q.Get("anonymous"))
	client, o := gcp.NewAnonymousHTTPClient(transport), new(gcsblob.Options)
	if !anonymous && q.Get("access_id") != "-" {
		var err error
		if client, o, err = newGSClient(ctx, at, transport); err != nil {
			return b, nil //nolint:nilerr // each request fails for the same reason, before it is sent
		}
	}
	safe, err := gcsblob.OpenBucket(ctx, client, at.URL.Host, o)
	if err = errors.Join(err, b.Close()); err != nil {
		return nil, at.Explain(err)
	}
	return safe, nil
}

// newGSClient returns a client with the credentials of this machine.
func newGSClient(ctx context.Context, at place.Place, transport http.RoundTripper) (*gcp.HTTPClient, *gcsblob.Options, error) {
	creds, err := gcp.DefaultCredentialsWithParams(ctx, google.CredentialsParams{UniverseDomain: at.URL.Query().Get("universe_domain")})
	if err != nil {
		return nil, nil, err
	}
	universe, err := creds.GetUniverseDomain()
	if err != nil {
		return nil, nil, err
	}
	client, err := gcp.NewHTTPClient(transport, creds.TokenSource)
	return client, &gcsblob.Options{ClientOptions: []option.ClientOption{option.WithUniverseDomain(universe)}}, err
}
