package s3

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// isCertificate reports whether a certificate of the server is not accepted.
func isCertificate(err error) bool {
	return errors.As(err, new(x509.UnknownAuthorityError)) || errors.As(err, new(x509.HostnameError)) ||
		errors.As(err, new(x509.CertificateInvalidError))
}

// metaPrefix begins the headers with the metadata of an object.
const metaPrefix = "X-Amz-Meta-"

// Attributes implements driver.Bucket.
func (b *Bucket) Attributes(ctx context.Context, key string) (driver.Attributes, error) {
	resp, err := b.do(ctx, &request{method: http.MethodHead, key: key})
	if err != nil {
		return driver.Attributes{}, err
	}
	resp.Body.Close() //nolint:errcheck,gosec // there is none
	if resp.ContentLength < 0 {
		return driver.Attributes{}, place.BadResponse("the server does not report the size of the object")
	}
	a := driver.Attributes{
		Size: resp.ContentLength, ModTime: modTime(resp.Header), ETag: resp.Header.Get("Etag"),
		MD5:      md5Of(resp.Header.Get("Etag")),
		Metadata: map[string]string{},
	}
	for name, values := range resp.Header {
		if short, ok := strings.CutPrefix(name, metaPrefix); ok {
			a.Metadata[strings.ToLower(short)] = values[0]
		}
	}
	return a, nil
}

// modTime returns the time of the last change; zero if the header has none.
func modTime(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// md5Of returns the MD5 that an ETag is, nil if it is another one, such as that of an upload in parts.
func md5Of(tag string) []byte {
	if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return nil
	}
	sum, err := hex.DecodeString(tag[1 : len(tag)-1])
	if err != nil {
		return nil
	}
	return sum
}

// Open implements driver.Bucket.
func (b *Bucket) Open(ctx context.Context, key string, offset, length int64) (*driver.Reader, error) {
	r := &request{method: http.MethodGet, key: key, object: true, header: map[string]string{}}
	whole := offset == 0 && length < 0
	switch {
	case length > 0:
		r.header["Range"] = fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
	case !whole:
		r.header["Range"] = fmt.Sprintf("bytes=%d-", offset)
	case b.verify:
		r.header["X-Amz-Checksum-Mode"] = "ENABLED"
	}
	resp, err := b.do(ctx, r) //nolint:bodyclose // the caller does
	if err != nil {
		return nil, err
	}
	size := resp.ContentLength
	if _, total, ok := strings.Cut(resp.Header.Get("Content-Range"), "/"); ok {
		if n, err := strconv.ParseInt(total, 10, 64); err == nil {
			size = n
		}
	}
	body := resp.Body
	if whole && b.verify {
		body = verified(body, resp.Header)
	}
	return &driver.Reader{ReadCloser: body, Size: size, ModTime: modTime(resp.Header)}, nil
}

// page is a page of a list.
type page struct {
	XMLName     xml.Name `xml:"ListBucketResult"`
	Encoding    string   `xml:"EncodingType"`
	IsTruncated bool
	Next        string `xml:"NextContinuationToken"`
	Contents    []struct {
		Key          string
		Size         string
		LastModified string
	}
}

// List implements driver.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string, deep bool) iter.Seq2[driver.Object, error] {
	return func(yield func(driver.Object, error) bool) {
		query := url.Values{"list-type": {"2"}, "max-keys": {"1000"}, "encoding-type": {"url"}}
		if prefix != "" {
			query.Set("prefix", prefix)
		}
		if !deep {
			query.Set("delimiter", "/")
		}
		for {
			var p page
			resp, err := b.do(ctx, &request{method: http.MethodGet, query: query})
			if err == nil {
				err = decode(resp, "ListBucketResult", &p)
			}
			if err != nil {
				yield(driver.Object{}, err)
				return
			}
			for _, o := range p.Contents {
				object, err := entry(o.Key, o.Size, o.LastModified, p.Encoding == "url")
				if !yield(object, err) || err != nil {
					return
				}
			}
			if p.Next == "" {
				if p.IsTruncated {
					yield(driver.Object{},
						place.BadResponse("the server's list goes on, but it does not say where"))
				}
				return
			}
			query.Set("continuation-token", p.Next)
		}
	}
}

// entry returns an object of a list.
func entry(key, size, modified string, encoded bool) (driver.Object, error) {
	o := driver.Object{Key: key}
	var err error
	if encoded {
		if o.Key, err = url.QueryUnescape(key); err != nil {
			return o, place.BadResponse("the server lists an object with a name that makes no sense")
		}
	}
	if o.ModTime, err = time.Parse(time.RFC3339, modified); err != nil {
		return o, place.BadResponse("the server lists an object without the time of its last change")
	}
	if size != "" {
		if o.Size, err = strconv.ParseInt(size, 10, 64); err != nil || o.Size < 0 {
			return o, place.BadResponse("the server lists an object with a size that is no number")
		}
	}
	return o, nil
}

// Delete implements driver.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	resp, err := b.do(ctx, &request{method: http.MethodDelete, key: key})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
