package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"
)

// Error says what a store answered, about what, and what to do.
type Error struct {
	URL    string // of the bucket or object, without secrets
	Reason string // as the store words it
	Advice string // what to set or to check; may be empty
	Err    error  // the cause; may be nil
	kind   error  // matched by errors.Is, such as ErrNotFound
}

// Error implements error.
func (e *Error) Error() string { return "store: " + e.URL + ": " + e.Message() }

// Message returns the text without the URL.
func (e *Error) Message() string {
	if e.Advice != "" {
		return e.Reason + ": " + e.Advice
	}
	return e.Reason
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches ErrNotFound and ErrDenied.
func (e *Error) Is(target error) bool { return e.kind != nil && e.kind == target }

// fail makes an Error about a location.
func (l location) fail(kind error, format string, args ...any) error {
	return &Error{URL: l.String(), Reason: fmt.Sprintf(format, args...), kind: kind}
}

// explain makes an Error of what an SDK returned.
func (l location) explain(err error) error {
	var ours *Error
	if err == nil || errors.As(err, &ours) || errors.Is(err, context.Canceled) {
		return err
	}
	e := &Error{URL: l.String(), Err: err, Reason: reason(err)}
	code := gcerrors.Code(err)
	var api smithy.APIError
	name := ""
	if errors.As(err, &api) {
		name = api.ErrorCode()
	}
	text := err.Error()
	switch {
	case name == "NoSuchBucket":
		e.kind, e.Advice = ErrNotFound, "make the bucket first, or check its name and the region"
	case strings.Contains(text, "unknown query parameter"):
		_, e.Reason, _ = strings.Cut(text, ": ")
		e.Advice = "check the spelling of the query parameters of the URL"
	case code == gcerrors.NotFound || name == "NotFound" || name == "NoSuchKey":
		e.kind, e.Reason = ErrNotFound, ErrNotFound.Error()
	case code == gcerrors.PermissionDenied || name == "AccessDenied" || name == "Forbidden" || name == "InvalidAccessKeyId" || name == "SignatureDoesNotMatch":
		e.kind, e.Advice = ErrDenied, credentialAdvice(l.url.Scheme)
	case noCredentials.MatchString(text):
		e.kind, e.Reason, e.Advice = ErrDenied, "no credentials were found", credentialAdvice(l.url.Scheme)
	case l.url.Scheme == schemeS3 && (strings.Contains(text, "Missing Region") || strings.Contains(text, "Invalid region: region was not a valid DNS name") || strings.Contains(text, "invalid region")):
		e.Reason, e.Advice = "the region of the bucket is not known", "set AWS_REGION, or add ?region=NAME to the URL"
	case name == "PermanentRedirect" || name == "AuthorizationHeaderMalformed" || name == "301":
		e.Advice = "the bucket is in another region: set AWS_REGION, or ?region=NAME in the URL"
	case unreachable(err):
		e.Advice = networkAdvice(l.url.Scheme)
	}
	return e
}

// noCredentials matches the errors of the SDKs for missing credentials. Google's SDK reports
// an unusable key instead.
var noCredentials = regexp.MustCompile(`get credentials|failed to refresh cached credentials|could not find default credentials|` +
	`private key should be a PEM|AccountName is required|failed to acquire a token`)

// credentialAdvice says where the SDK of a store looks for credentials.
func credentialAdvice(scheme string) string {
	switch scheme {
	case schemeS3:
		return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or ?anonymous=true for a public bucket"
	case schemeGS:
		return "set GOOGLE_APPLICATION_CREDENTIALS to a key file"
	case schemeAzure:
		return "set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN"
	}
	return ""
}

// networkAdvice says which settings select the host of a store.
func networkAdvice(scheme string) string {
	switch scheme {
	case schemeS3:
		return "check the network; another store than Amazon's needs AWS_ENDPOINT_URL or ?endpoint=http://HOST:PORT in the URL"
	case schemeAzure:
		return "check the network and AZURE_STORAGE_ACCOUNT"
	}
	return "check the network"
}

// unreachable reports whether the store did not answer.
func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, context.DeadlineExceeded)
}

// requestIDs matches request IDs, which only clutter error messages.
var requestIDs = regexp.MustCompile(`(https response error )?StatusCode: \d+, RequestID: [^,]*, (HostID: [^,]*, )?`)

// reason returns the store's error message, on one line and without URLs that may hold a
// signature.
func reason(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		if api.ErrorMessage() == "" || api.ErrorMessage() == api.ErrorCode() {
			return "the store says " + api.ErrorCode()
		}
		return fmt.Sprintf("the store says %s (%s)", strings.TrimSuffix(api.ErrorMessage(), "."), api.ErrorCode())
	}
	var web *url.Error
	if errors.As(err, &web) {
		return web.Err.Error()
	}
	text := requestIDs.ReplaceAllString(err.Error(), "")
	text, _, _ = strings.Cut(text, "\n")
	return secrets.ReplaceAllString(text, "$1=…")
}

// secrets matches URL parameters that authenticate requests.
var secrets = regexp.MustCompile(`(?i)\b(x-amz-[a-z-]+|sig|se|sv|sp|token|signature|password|secret|key|accesskey|sharedkey)=[^&\s"]+`)
