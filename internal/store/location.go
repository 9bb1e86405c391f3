package store

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Schemes of URLs that IsURL accepts. http and https are read-only.
const (
	schemeS3    = "s3"
	schemeGS    = "gs"
	schemeAzure = "azblob"
	schemeFile  = "file"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// IsURL reports whether an argument is a URL of a store rather than the name of a local file.
func IsURL(arg string) bool {
	scheme, _, ok := strings.Cut(arg, "://")
	return ok && slices.Contains([]string{schemeS3, schemeGS, schemeAzure, schemeFile, schemeHTTP, schemeHTTPS}, scheme)
}

// Remote reports whether an argument is a URL of another machine.
func Remote(arg string) bool { return IsURL(arg) && !strings.HasPrefix(arg, schemeFile+"://") }

// location is a parsed URL.
type location struct {
	url *url.URL
	key string // of the object, or the prefix of keys; without a leading slash
}

// parse parses a URL. Its errors contain no secrets of the URL.
func parse(raw string) (location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, &Error{URL: Redact(raw), Reason: "not a URL: want s3://bucket/name or alike"}
	}
	l := location{url: u, key: strings.TrimPrefix(path.Clean("/"+u.Path), "/")}
	switch {
	case !IsURL(raw):
		return l, l.fail(nil, "want s3://, gs://, azblob:// or file://")
	case u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS && (u.User != nil || strings.Contains(u.Query().Get("endpoint"), "@")):
		return l, l.fail(ErrDenied, "credentials do not belong in the URL: %s", credentialAdvice(u.Scheme))
	case u.Scheme == schemeFile && u.Host != "" && u.Host != "localhost":
		return l, l.fail(nil, "a file URL has three slashes: file:///%s%s", u.Host, u.Path)
	case u.Scheme != schemeFile && u.Host == "":
		return l, l.fail(nil, "names no bucket: want %s://bucket/name", u.Scheme)
	}
	return l, nil
}

// String shows the location without its parameters, which may hold secrets.
func (l location) String() string {
	u := url.URL{Scheme: l.url.Scheme, Host: l.url.Host, Path: l.url.Path}
	return u.String()
}

// Redact returns a URL without user, password and parameters, which may contain a signature,
// so that it can be shown and logged. Other texts are returned unchanged.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, tail, slash := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if slash {
		tail = "/" + tail
	}
	return scheme + "://" + host + tail
}

// file returns the local path of a file URL.
func (l location) file() string { return filepath.FromSlash(l.url.Path) }

// bucketURL returns the URL of the bucket for gocloud.dev/blob, with defaults that most
// stores need.
func (l location) bucketURL() string {
	u := url.URL{Scheme: l.url.Scheme, Host: l.url.Host}
	q := l.url.Query()
	switch l.url.Scheme {
	case schemeFile:
		u.Host, u.Path = "", l.url.Path
		if !q.Has("no_tmp_dir") {
			q.Set("no_tmp_dir", "true") // the system's directory may be another disk, from which nothing can be renamed
		}
	case schemeS3:
		l.s3Defaults(q)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// s3Defaults sets defaults for stores other than Amazon's: few of them have a host name for
// each bucket, and none needs a region.
func (l location) s3Defaults(q url.Values) {
	if !q.Has("endpoint") && os.Getenv("AWS_ENDPOINT_URL") == "" && os.Getenv("AWS_ENDPOINT_URL_S3") == "" {
		return
	}
	if !q.Has("use_path_style") && !q.Has("s3ForcePathStyle") {
		q.Set("use_path_style", "true")
	}
	known := q.Has("region") || q.Has("profile")
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE"} {
		known = known || os.Getenv(name) != ""
	}
	if !known {
		q.Set("region", "us-east-1")
	}
}

// identity identifies the bucket, without parameters that only affect the access. It
// contains no secrets.
func (l location) identity() string {
	s := l.String()
	if endpoint := l.url.Query().Get("endpoint"); endpoint != "" {
		s += "?endpoint=" + Redact(endpoint)
	}
	return strings.TrimSuffix(s, "/")
}
