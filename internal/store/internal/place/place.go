// Package place knows the URLs of stores, and explains what goes wrong there.
package place

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
	return ok && slices.Contains([]string{SchemeS3, SchemeGS, SchemeAzure, SchemeFile, SchemeHTTP, SchemeHTTPS}, scheme)
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
		return Place{}, &Error{URL: Redact(raw), Reason: "not a URL: want s3://bucket/name or alike"}
	}
	l := Place{URL: u, Key: strings.TrimPrefix(path.Clean("/"+u.Path), "/")}
	switch {
	case !IsURL(raw):
		return l, l.Fail(nil, "want s3://, gs://, azblob:// or file://")
	case u.Scheme != SchemeHTTP && u.Scheme != SchemeHTTPS && (u.User != nil || strings.Contains(u.Query().Get("endpoint"), "@")):
		return l, l.Fail(ErrDenied, "credentials do not belong in the URL: %s", credentialAdvice(u.Scheme))
	case u.Scheme == SchemeFile && u.Host != "" && u.Host != "localhost":
		return l, l.Fail(nil, "a file URL has three slashes: file:///%s%s", u.Host, u.Path)
	case u.Scheme != SchemeFile && u.Host == "":
		return l, l.Fail(nil, "names no bucket: want %s://bucket/name", u.Scheme)
	}
	return l, nil
}

// String shows the Place without its parameters, which may hold secrets.
func (l Place) String() string {
	u := url.URL{Scheme: l.URL.Scheme, Host: l.URL.Host, Path: l.URL.Path}
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

// File returns the local path of a file URL.
func (l Place) File() string { return filepath.FromSlash(l.URL.Path) }

// BucketURL returns the URL of the bucket for gocloud.dev/blob, with defaults that most
// stores need.
func (l Place) BucketURL() string {
	u := url.URL{Scheme: l.URL.Scheme, Host: l.URL.Host}
	q := l.URL.Query()
	switch l.URL.Scheme {
	case SchemeFile:
		u.Host, u.Path = "", l.URL.Path
		if !q.Has("no_tmp_dir") {
			q.Set("no_tmp_dir", "true") // the system's directory may be another disk, from which nothing can be renamed
		}
	case SchemeS3:
		l.s3Defaults(q)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// s3Defaults sets defaults for stores other than Amazon's: few of them have a host name for
// each bucket, and none needs a region.
func (l Place) s3Defaults(q url.Values) {
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

// Identity identifies the bucket, without parameters that only affect the access. It
// contains no secrets.
func (l Place) Identity() string {
	s := l.String()
	if endpoint := l.URL.Query().Get("endpoint"); endpoint != "" {
		s += "?endpoint=" + Redact(endpoint)
	}
	return strings.TrimSuffix(s, "/")
}

// Object returns the place of the object that has a name below a place.
func (l Place) Object(name string) Place {
	u := *l.URL
	u.Path = path.Join("/", u.Path, name)
	key := name // the path of a directory is the bucket's
	if u.Scheme != SchemeFile {
		key = path.Join(l.Key, name)
	}
	return Place{URL: &u, Key: key}
}
