package clouds

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/gcsblob" // gs://
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// gsAttempts bounds how often the SDK of Google sends a request. Without a bound it repeats requests without
// end while the store is not reachable, and nobody learns why.
const gsAttempts = 3

// openGS opens a bucket of Google with a client that checks the responses of the server. The opener of
// the driver prints to standard output if there are no credentials. With grpc=true or zonal=true in the
// URL there is no HTTP, and gRPC has its own limits.
func openGS(ctx context.Context, at place.Place, meter *put.Meter) (driver.Bucket, error) {
	q := at.URL.Query()
	grpc, _ := strconv.ParseBool(q.Get("grpc")) // the driver checks the parameters
	zonal, _ := strconv.ParseBool(q.Get("zonal"))
	anonymous, _ := strconv.ParseBool(q.Get("anonymous"))
	anonymous = anonymous || q.Get("access_id") == "-"
	transport := response.Transport{Next: response.NewTransport()}
	opener := gcsblob.URLOpener{Client: gcp.NewAnonymousHTTPClient(transport)}
	switch {
	case anonymous && !grpc && !zonal: // the driver would replace the client
		q.Del("anonymous")
		q.Del("access_id")
	case !anonymous && os.Getenv("STORAGE_EMULATOR_HOST") == "":
		if err := authenticateGS(ctx, &opener, transport, q.Get("universe_domain")); err != nil {
			return nil, at.Explain(err)
		}
	}
	b, err := opener.OpenBucketURL(ctx,
		&url.URL{Scheme: place.SchemeGS, Host: at.URL.Host, RawQuery: q.Encode()})
	if err != nil {
		return nil, at.Explain(err)
	}
	var client *storage.Client
	if b.As(&client) {
		client.SetRetry(storage.WithMaxAttempts(gsAttempts))
	}
	return &bucket{blob: b, meter: meter}, nil
}

// authenticateGS gives an opener the credentials of this machine. If there are none, each request fails
// and says so, as those of the other stores do: a recorder starts without an upload, too.
func authenticateGS(ctx context.Context, o *gcsblob.URLOpener, transport http.RoundTripper,
	universe string,
) error {
	creds, err := gcp.DefaultCredentialsWithParams(ctx, google.CredentialsParams{UniverseDomain: universe})
	if err == nil {
		o.TokenSource = creds.TokenSource
		universe, err = creds.GetUniverseDomain()
	}
	if err != nil {
		o.TokenSource = noToken{err}
	} else {
		o.Options.ClientOptions = []option.ClientOption{option.WithUniverseDomain(universe)}
	}
	o.Client, err = gcp.NewHTTPClient(transport, o.TokenSource)
	return err
}

// noToken is the source of tokens of a machine without credentials.
type noToken struct{ err error }

// Token implements oauth2.TokenSource.
func (n noToken) Token() (*oauth2.Token, error) { return nil, n.err }
