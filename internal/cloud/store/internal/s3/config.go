package s3

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/awsauth"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// config is what the URL, the environment and the profile say about a bucket.
type config struct {
	endpoint  *url.URL // nil for Amazon's
	region    string   // empty if nothing names it
	profile   string
	role      string
	anonymous bool
	pathStyle bool // the bucket is part of the path, not of the host
	variant   variant
	plain     bool // HTTP without TLS, for Amazon's endpoints

	encryption, kmsKey string
	checksums          bool // send checksums of the kinds that S3 keeps
	verify             bool // ask for these checksums with objects
	bundle             string
}

// variant selects one of Amazon's endpoints.
type variant struct{ dualStack, fips, accelerated bool }

// defaultRegion is where a bucket is looked for that no region is named for: the response names its own.
const defaultRegion = "us-east-1"

// encryptions are the values of ssetype.
var encryptions = []string{"AES256", "aws:fsx", "aws:kms", "aws:kms:dsse"}

// parse reads the parameters of a URL.
func parse(at place.Place) (*config, error) {
	c := &config{checksums: true, verify: true}
	var err error
	q := at.URL.Query()
	flags := map[string]*bool{
		"anonymous": &c.anonymous, "use_path_style": &c.pathStyle, "s3ForcePathStyle": &c.pathStyle,
		"hostname_immutable": &c.pathStyle,
		"dualstack":          &c.variant.dualStack, "fips": &c.variant.fips,
		"accelerate":    &c.variant.accelerated,
		"disable_https": &c.plain,
	}
	var request, reply string
	texts := map[string]*string{
		"region": &c.region, "profile": &c.profile, "role": &c.role, "ssetype": &c.encryption,
		"kmskeyid":                     &c.kmsKey,
		"request_checksum_calculation": &request, "response_checksum_validation": &reply,
		"endpoint":              new(string),
		"rate_limiter_capacity": new(string), "awssdk": new(string), // of no use here
	}
	for key, values := range q {
		value := values[0]
		switch {
		case flags[key] != nil && value != "":
			if *flags[key], err = strconv.ParseBool(value); err != nil {
				return nil, at.Fail(nil, "invalid value for %s: %.40q is neither true nor false", key, value)
			}
		case flags[key] != nil:
		case texts[key] != nil:
			*texts[key] = value
		default:
			return nil, at.Fail(nil,
				"unknown query parameter %q: check the spelling of the query parameters of the URL", key)
		}
	}
	if err := c.setEncryption(at); err != nil {
		return nil, err
	}
	profile, err := awsauth.ReadProfile(c.profile)
	if err != nil {
		return nil, at.Fail(place.ErrDenied, "%v: check AWS_PROFILE and the parameter profile of the URL", err)
	}
	c.region = cmp.Or(c.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profile["region"])
	if !isRegion(c.region) {
		return nil, at.Fail(nil, "the region %.40q is none: set AWS_REGION, or add ?region=NAME to the URL",
			c.region)
	}
	c.bundle = cmp.Or(os.Getenv("AWS_CA_BUNDLE"), profile["ca_bundle"])
	_, address := at.Endpoint()
	if address = cmp.Or(address, profile["endpoint_url"]); address != "" {
		if c.endpoint, err = url.Parse(address); err != nil || c.endpoint.Host == "" {
			return nil, at.Fail(nil,
				"endpoint_url of the profile is not the address of a store: want http://HOST:PORT or https://HOST")
		}
	}
	if style := profile["s3.addressing_style"]; q.Get("use_path_style") == "" && q.Get("s3ForcePathStyle") == "" {
		// few stores other than Amazon's have a host name for each bucket
		c.pathStyle = c.pathStyle || style == "path" || c.endpoint != nil && style != "virtual"
	}
	if c.endpoint != nil { // proxies pass the header Host on without it, and it is signed
		port := map[string]string{place.SchemeHTTP: ":80", place.SchemeHTTPS: ":443"}[c.endpoint.Scheme]
		c.endpoint.Host = strings.TrimSuffix(c.endpoint.Host, port)
	}
	if c.checksums, err = whenSupported(at, "request_checksum_calculation", request, profile); err != nil {
		return nil, err
	}
	c.verify, err = whenSupported(at, "response_checksum_validation", reply, profile)
	return c, err
}

// isRegion reports whether a text may be the name of a region, which is part of a host. The longest has
// 16 characters.
func isRegion(name string) bool {
	return len(name) < 40 &&
		!strings.ContainsFunc(name,
			func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// setEncryption checks the encryption that the URL demands.
func (c *config) setEncryption(at place.Place) error {
	if c.encryption == "" {
		return nil
	}
	for _, kind := range encryptions {
		if strings.EqualFold(kind, c.encryption) {
			c.encryption = kind
			return nil
		}
	}
	return at.Fail(nil, "invalid value for ssetype: %.40q is none of %s", c.encryption,
		strings.Join(encryptions, ", "))
}

// whenSupported reads a setting that is when_supported, the default, or when_required.
func whenSupported(at place.Place, name, value string, profile awsauth.Profile) (bool, error) {
	value = cmp.Or(value, os.Getenv("AWS_"+strings.ToUpper(name)), profile[name])
	switch strings.ToLower(value) {
	case "", "when_supported":
		return true, nil
	case "when_required":
		return false, nil
	}
	return false, at.Fail(nil, "invalid value for %s: %.40q is neither when_supported nor when_required",
		name, value)
}

// url returns the URL of a key in a bucket; an empty key stands for the bucket.
func (c *config) url(bucket, region, key string) *url.URL {
	u := url.URL{Scheme: "https"}
	inPath := c.pathStyle
	switch {
	case c.endpoint != nil:
		u.Scheme, u.Host, u.Path = c.endpoint.Scheme, c.endpoint.Host,
			strings.TrimSuffix(c.endpoint.Path, "/")
	case c.variant.accelerated:
		u.Host = c.variant.host("s3-accelerate", "") + ".amazonaws.com"
	default:
		domain := ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			domain += ".cn"
		}
		u.Host = c.variant.host("s3", region) + domain
		inPath = inPath || strings.Contains(bucket, ".") // for which the certificate does not hold
	}
	if c.plain && c.endpoint == nil {
		u.Scheme = "http"
	}
	if inPath {
		u.Path += "/" + bucket
	} else {
		u.Host = bucket + "." + u.Host
	}
	u.Path += "/" + key
	u.RawPath = awsauth.Escape(u.Path)
	return &u
}

// host returns the first part of the name of an endpoint of Amazon.
func (v variant) host(service, region string) string {
	if v.fips {
		service += "-fips"
	}
	if v.dualStack {
		service += ".dualstack"
	}
	if region != "" {
		service += "." + region
	}
	return service
}

// client returns an HTTP client whose responses are checked. It follows no redirects: each request is
// signed for its host.
func (c *config) client() (*http.Client, error) {
	transport := response.NewTransport()
	if c.bundle != "" {
		text, err := os.ReadFile(c.bundle)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, &os.PathError{Op: "read", Path: c.bundle, Err: errNoCertificate}
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	transport.ExpectContinueTimeout = time.Second
	return &http.Client{
		Transport:     response.Transport{Next: transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
