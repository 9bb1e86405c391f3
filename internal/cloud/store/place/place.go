// Package place knows the URLs of stores, and explains what goes wrong there. It has no client of a
// store, so that packages that only name errors do not link one.
package place

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Schemes of URLs that IsURL accepts. http and https are read-only.
const (
	SchemeS3    = "s3"
	SchemeGS    = "gs"
	SchemeAzure = "azblob"
	SchemeFile  = "file"
	SchemeHTTP  = "http"
	SchemeHTTPS = "https"
)

// IsURL reports whether an argument is a URL of a store rather than the name of a local file.
func IsURL(arg string) bool {
	scheme, _, ok := strings.Cut(arg, "://")
	return ok && slices.Contains([]string{
		SchemeS3, SchemeGS, SchemeAzure, SchemeFile, SchemeHTTP,
		SchemeHTTPS,
	}, scheme)
}

// Remote reports whether an argument is a URL of another machine.
func Remote(arg string) bool { return IsURL(arg) && !strings.HasPrefix(arg, SchemeFile+"://") }

// Place is a parsed URL.
type Place struct {
	URL *url.URL
	Key string // of the object, or the prefix of keys; without a leading slash
}

// Parse parses a URL. Its errors contain no secrets of the URL.
func Parse(raw string) (Place, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Place{}, &Error{URL: wording.Redact(raw), Reason: "not a URL: want s3://bucket/name or alike"}
	}
	p := Place{URL: u, Key: strings.TrimPrefix(path.Clean("/"+u.Path), "/")}
	switch {
	case !IsURL(raw):
		return p, p.Fail(nil, "want s3://, gs://, azblob:// or file://")
	case u.Scheme != SchemeHTTP && u.Scheme != SchemeHTTPS &&
		(u.User != nil || strings.Contains(u.Query().Get("endpoint"), "@")):
		return p, p.Fail(ErrDenied, "credentials do not belong in the URL: %s", credentialAdvice(u.Scheme))
	case u.Scheme == SchemeFile && u.Host != "" && u.Host != "localhost":
		return p, p.Fail(nil, "a file URL has three slashes: file:///%s%s", u.Host, u.Path)
	case u.Scheme != SchemeFile && u.Host == "":
		return p, p.Fail(nil, "names no %s: want %[2]s://%[1]s/name", bucketOf(u.Scheme), u.Scheme)
	case !validPort(u):
		return p, p.Fail(nil, "%s is not a port: want 1 to 65535", u.Port())
	case u.Scheme == SchemeS3:
		return p, p.checkEndpoint()
	}
	return p, nil
}

// bucketOf returns the word for what stands in the place of the host.
func bucketOf(scheme string) string {
	switch scheme {
	case SchemeHTTP, SchemeHTTPS:
		return "host"
	case SchemeAzure:
		return "container"
	}
	return "bucket"
}

// validPort reports whether the port of a URL can be one; without a port it is that of the scheme.
func validPort(u *url.URL) bool {
	port := u.Port()
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// Endpoint returns the address of a store of S3 that is not Amazon's, and the name of the setting
// that holds it. Both are empty if neither the URL nor the environment names one.
func (p Place) Endpoint() (name, address string) {
	if address = p.URL.Query().Get("endpoint"); address != "" {
		return "the endpoint of the URL", address
	}
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if address = os.Getenv(name); address != "" {
			return name, address
		}
	}
	return "", ""
}

// checkEndpoint returns an error if the address of a store of S3 cannot be one. The SDK would notice at
// the first request only. The error does not contain the address: that of a variable may hold a password.
func (p Place) checkEndpoint() error {
	name, address := p.Endpoint()
	u, err := url.Parse(address)
	if name == "" || err == nil && (u.Scheme == SchemeHTTP || u.Scheme == SchemeHTTPS) &&
		u.Hostname() != "" && validPort(u) {
		return nil
	}
	return p.Fail(nil, "%s is not the address of a store: want http://HOST:PORT or https://HOST", name)
}

// String shows the Place without its parameters, which may hold secrets.
func (p Place) String() string {
	u := url.URL{Scheme: p.URL.Scheme, Host: p.URL.Host, Path: p.URL.Path}
	return u.String()
}

// File returns the local path of a file URL.
func (p Place) File() string { return filepath.FromSlash(p.URL.Path) }

// BucketURL returns the URL of the bucket.
func (p Place) BucketURL() string {
	u := url.URL{Scheme: p.URL.Scheme, Host: p.URL.Host, RawQuery: p.URL.Query().Encode()}
	return u.String()
}

// Identity identifies the bucket, without parameters that only affect the access. It
// contains no secrets.
func (p Place) Identity() string {
	s := p.String()
	if endpoint := p.URL.Query().Get("endpoint"); endpoint != "" {
		s += "?endpoint=" + wording.Redact(endpoint)
	}
	return strings.TrimSuffix(s, "/")
}

// Object returns the place of the object that has a name below a place.
func (p Place) Object(name string) Place {
	u := *p.URL
	u.Path = path.Join("/", u.Path, name)
	key := name // the path of a directory is the bucket's
	if u.Scheme != SchemeFile {
		key = path.Join(p.Key, name)
	}
	return Place{URL: &u, Key: key}
}
