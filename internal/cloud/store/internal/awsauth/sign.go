// Package awsauth finds credentials of AWS where its own tools keep them, and signs requests with them.
//
// It knows keys in the environment and in files, roles (with keys, with a web identity, of a container,
// of a machine of EC2), and programs that print credentials. It does not know sessions of IAM Identity
// Center: a program can print theirs. It logs nothing, and no secret is part of an error.
package awsauth

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Credentials sign requests. The zero value signs none.
type Credentials struct {
	Key, Secret, Token string
	Expires            time.Time // zero if they do not
}

// UnsignedPayload stands for the checksum of a body that is not part of the signature.
const UnsignedPayload = "UNSIGNED-PAYLOAD"

// layouts of times in a signature.
const (
	dayLayout  = "20060102"
	timeLayout = "20060102T150405Z"
)

// unsigned are headers that the client or a proxy may change.
var unsigned = []string{
	"Authorization", "User-Agent", "Accept-Encoding", "Content-Length", "Connection",
	"Expect",
}

// Sign signs a request (AWS Signature Version 4) whose body has the SHA-256 payload, in hexadecimal. It
// sets the headers that belong to the signature, and the query in the order that they demand.
func Sign(req *http.Request, payload string, c Credentials, service, region string, now time.Time) {
	now = now.UTC()
	req.Header.Set("X-Amz-Date", now.Format(timeLayout))
	req.Header.Set("X-Amz-Content-Sha256", payload)
	if c.Token != "" {
		req.Header.Set("X-Amz-Security-Token", c.Token)
	}
	req.URL.RawQuery = Query(req.URL.Query())
	path := cmp.Or(req.URL.EscapedPath(), "/")

	names := []string{"host"}
	values := map[string]string{"host": cmp.Or(req.Host, req.URL.Host)}
	for name, all := range req.Header {
		if !slices.Contains(unsigned, name) {
			name = strings.ToLower(name)
			names = append(names, name)
			values[name] = strings.Join(strings.Fields(strings.Join(all, ",")), " ")
		}
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + values[name] + "\n")
	}
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{
		req.Method, path, req.URL.RawQuery,
		headers.String(), signed, payload,
	}, "\n")

	scope := strings.Join([]string{now.Format(dayLayout), region, service, "aws4_request"}, "/")
	hash := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{
		"AWS4-HMAC-SHA256", now.Format(timeLayout), scope,
		hex.EncodeToString(hash[:]),
	}, "\n")
	key := []byte("AWS4" + c.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = sum(key, part)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.Key+"/"+scope+", SignedHeaders="+signed+
		", Signature="+hex.EncodeToString(sum(key, text)))
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // a hash takes everything
	return h.Sum(nil)
}

// Query encodes the query of a URL as signatures demand: in order, and with %20 for a space.
func Query(q url.Values) string { return strings.ReplaceAll(q.Encode(), "+", "%20") }

// Escape encodes a path as signatures demand: all but letters, digits, slashes and four other characters.
func Escape(path string) string {
	const hexadecimal = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hexadecimal[c>>4], hexadecimal[c&15]})
		}
	}
	return b.String()
}
