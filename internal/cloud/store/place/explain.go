package place

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// Error says what a store responded, about which object or bucket, and what to do.
type Error struct {
	URL    string // of the bucket or object, without secrets
	Reason string // as the store words it
	Advice string // what to set or to check; may be empty
	Err    error  // the cause; may be nil
	kind   error  // matched by errors.Is, such as ErrNotFound
}

// Error implements error.
func (e *Error) Error() string { return e.URL + ": " + e.MessageWithoutPlace() }

// MessageWithoutPlace returns the text without the URL. Package wording finds errors of stores by this
// method: its name is long, so that no error of a library has it by chance.
func (e *Error) MessageWithoutPlace() string {
	if e.Advice != "" {
		return e.Reason + ": " + e.Advice
	}
	return e.Reason
}

// Message returns the text of an error without the URL of an Error.
func Message(err error) string {
	var ours *Error
	if errors.As(err, &ours) {
		return ours.MessageWithoutPlace()
	}
	return err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches ErrNotFound, ErrDenied, ErrUnreachable, ErrExists, ErrBadResponse and ErrChanged.
func (e *Error) Is(target error) bool { return e.kind != nil && e.kind == target }

// Fail makes an Error about a Place.
func (p Place) Fail(kind error, format string, args ...any) error {
	return &Error{URL: p.String(), Reason: fmt.Sprintf(format, args...), kind: kind}
}

// Explain makes an Error of what an SDK returned.
func (p Place) Explain(err error) error {
	var ours *Error
	if err == nil || errors.As(err, &ours) || errors.Is(err, context.Canceled) {
		return err
	}
	var bad *ResponseError
	if errors.As(err, &bad) {
		return p.Fail(bad.kind, "%s", bad.reason)
	}
	e := &Error{URL: p.String(), Err: err, Reason: clip(reason(err))}
	if p.explainCertificate(e) || p.explainFile(e) || p.explainCloud(e) {
		return e
	}
	var api apiError
	name := ""
	if errors.As(err, &api) {
		name = api.ErrorCode()
	}
	text := err.Error()
	switch {
	case name == "NoSuchBucket":
		e.kind, e.Advice = ErrNotFound, "make the bucket first, or check its name and the region"
	case strings.Contains(text, "unknown query parameter"), strings.Contains(text, "invalid query parameter"):
		_, e.Reason, _ = strings.Cut(text, ": ")
		e.Advice = "check the spelling of the query parameters of the URL"
	case errors.As(err, new(*net.DNSError)): // the driver of Azure calls an unknown host a missing object
		p.explainNetwork(e)
	case errors.Is(err, ErrNotFound) || name == "NotFound" || name == "NoSuchKey":
		e.kind, e.Reason = ErrNotFound, ErrNotFound.Error()
		if p.URL.Scheme == SchemeS3 { // whose HEAD has no body that would name what is missing
			e.Advice = "check the name, also that of the bucket"
		}
	case errors.Is(err, ErrExists) || name == "PreconditionFailed":
		e.kind, e.Reason = ErrExists, ErrExists.Error()
	case slices.Contains(fullCodes, name):
		e.Advice = adviceFull
	case deniedAdvice[name] != "":
		e.kind, e.Advice = ErrDenied, deniedAdvice[name]
	case errors.Is(err, ErrUnusableCredentials):
		e.kind, e.Reason = ErrDenied, fmt.Sprintf("%v: %s", ErrUnusableCredentials, e.Reason)
	case errors.Is(err, ErrNoCredentials), noCredentials().MatchString(text):
		e.kind, e.Reason, e.Advice = ErrDenied, "no credentials were found", credentialAdvice(p.URL.Scheme)
	case errors.Is(err, ErrDenied), strings.Contains(text, "decode account key"):
		e.kind, e.Advice = ErrDenied, credentialAdvice(p.URL.Scheme)
	case p.URL.Scheme == SchemeS3 &&
		(strings.Contains(text, "Missing Region") ||
			strings.Contains(text, "Invalid region: region was not a valid DNS name") ||
			strings.Contains(text, "invalid region")):
		e.Reason, e.Advice = "the region of the bucket is not known",
			"set AWS_REGION, or add ?region=NAME to the URL"
	case name == "PermanentRedirect" || name == "AuthorizationHeaderMalformed" || name == "301":
		e.Advice = "the bucket is in another region: set AWS_REGION, or ?region=NAME in the URL"
	case strings.Contains(text, "checksum did not match"): // of the SDK of S3
		e.Reason, e.Advice = "the content does not match the checksum that the store has of it",
			"the object is damaged: upload the bag again"
	case unavailable(err):
		e.kind = ErrUnreachable
	default:
		p.explainNetwork(e)
	}
	return e
}

// apiError is an error of S3.
type apiError interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// explainCertificate explains why the certificate of a server is not trusted, and reports whether
// that is the problem.
func (p Place) explainCertificate(e *Error) bool {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var path *fs.PathError
	switch {
	case p.URL.Scheme == SchemeS3 && errors.As(e.Err, &path) && path.Path == os.Getenv("AWS_CA_BUNDLE"):
		e.Reason, e.Advice = path.Error(),
			"AWS_CA_BUNDLE has to name a PEM file with certificates that this program can read, or to be unset"
	case errors.As(e.Err, &unknown):
		e.Reason = "the certificate of the server is signed by a CA that is not trusted here"
		e.Advice = adviceCertFile()
		if p.URL.Scheme == SchemeS3 && os.Getenv("AWS_CA_BUNDLE") != "" { // the SDK then looks nowhere else
			e.Advice = "add the certificate of that CA to the file that AWS_CA_BUNDLE names, or unset that and set SSL_CERT_FILE"
		}
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		e.Reason, e.Advice = invalid.Error(),
			"check the clock of this machine, then the certificate of the server"
	case errors.As(e.Err, &invalid):
		e.Reason, e.Advice = invalid.Error(), "the server needs another certificate"
	case errors.As(e.Err, &host):
		e.Reason, e.Advice = host.Error(), "use the name that the certificate is for"
	default:
		return false
	}
	return true
}

// adviceCertFile says how this program learns of a CA. Go passes over a file that it cannot read.
func adviceCertFile() string {
	const set = "set SSL_CERT_FILE to a PEM file with the certificate of that CA (in a container: mount it)"
	name := os.Getenv("SSL_CERT_FILE")
	if name == "" {
		return set
	}
	text, err := os.ReadFile(name) //nolint:gosec // certificates are public
	switch {
	case err != nil:
		return fmt.Sprintf("SSL_CERT_FILE names a file that this program cannot read (%v): in a container mount it, and let the user of this program read it", err)
	case !x509.NewCertPool().AppendCertsFromPEM(text):
		return fmt.Sprintf("SSL_CERT_FILE names a file without a certificate in PEM (%s)", name)
	}
	return fmt.Sprintf("add the certificate of that CA to the file that SSL_CERT_FILE names (%s)", name)
}

// explainFile explains errors of a directory, and reports whether it is one.
func (p Place) explainFile(e *Error) bool {
	switch {
	case p.URL.Scheme != SchemeFile:
		return false
	case errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT):
		e.Advice = adviceFull
	case errors.Is(e.Err, fs.ErrPermission):
		e.kind, e.Advice = ErrDenied,
			"give the user of this program access: to the file to read it, to the directory to upload"
	case errors.Is(e.Err, fs.ErrNotExist):
		e.kind, e.Reason, e.Advice = ErrNotFound, "no such file",
			"check the name, and that the disk or network share is mounted"
		return true
	default:
		return false
	}
	return true
}

const adviceFull = "the store is full: make room there, or raise its quota"

// fullCodes are the error codes of S3 stores without room.
var fullCodes = []string{
	"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded",
	"InsufficientStorage", "StorageFull",
}

// deniedAdvice says what to do about the error codes with which S3 stores deny access. All mean
// that credentials were found.
var deniedAdvice = map[string]string{
	"SignatureDoesNotMatch": "the secret is wrong: check AWS_SECRET_ACCESS_KEY, or the profile that it comes from",
	"InvalidAccessKeyId":    adviceKey,
	"XAdminUserNotFound":    adviceKey, // versitygw
	"ExpiredToken":          "the session has ended: get new credentials",
	"InvalidToken":          "the session token is wrong: check AWS_SESSION_TOKEN",
	"RequestTimeTooSkewed":  "the clock of this machine is wrong: set it",
	"AccessDenied":          advicePermission,
	// the response to a HEAD has no more than the status
	"Forbidden": "the key or its secret is wrong, or " + advicePermission,
}

const adviceKey = "the store does not know this key: check AWS_ACCESS_KEY_ID, or the profile that it comes from, and the endpoint"

const advicePermission = "the key lacks a permission: s3:GetObject to read, s3:PutObject to upload, s3:ListBucket for both"

// noCredentials matches the errors of the SDKs for missing credentials. Google's SDK reports
// an unusable key instead.
var noCredentials = lazyre.New(`get credentials|failed to refresh cached credentials|could not find default credentials|` +
	`private key should be a PEM|AccountName is required|failed to acquire a token`)

// credentialAdvice says where the SDK of a store looks for credentials.
func credentialAdvice(scheme string) string {
	switch scheme {
	case SchemeS3:
		return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or ?anonymous=true for a public bucket"
	case SchemeGS:
		return "set GOOGLE_APPLICATION_CREDENTIALS to a key file"
	case SchemeAzure:
		return "set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN"
	}
	return ""
}

// unavailable reports whether the store, or a proxy before it, asks to try again later.
func unavailable(err error) bool {
	var resp interface{ HTTPStatusCode() int }
	return errors.As(err, &resp) && temporary(resp.HTTPStatusCode())
}

// temporary reports whether a status may change without anybody's help.
func temporary(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusTooManyRequests:
		return true
	}
	return false
}

// maxReasonBytes bounds what is kept and shown of the text of a server.
const maxReasonBytes = 1 << 10

// clip cuts the text of a server to maxReasonBytes.
func clip(text string) string {
	if len(text) <= maxReasonBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxReasonBytes], "") + "…"
}

// requestIDs matches request IDs, which only clutter error messages.
var requestIDs = lazyre.New(`(https response error )?StatusCode: \d+, RequestID: [^,]*, (HostID: [^,]*, )?`)

// reason returns the store's error message, on one line and without URLs that may hold a
// signature.
func reason(err error) string {
	var api apiError
	if errors.As(err, &api) {
		if api.ErrorMessage() == "" || api.ErrorMessage() == api.ErrorCode() {
			return "the store says " + api.ErrorCode()
		}
		return fmt.Sprintf("the store says %s (%s)", strings.TrimSuffix(api.ErrorMessage(), "."),
			api.ErrorCode())
	}
	var web *url.Error
	if errors.As(err, &web) {
		return web.Err.Error()
	}
	text := requestIDs().ReplaceAllString(err.Error(), "")
	text, _, _ = strings.Cut(text, "\n")
	return secrets().ReplaceAllString(text, "$1=…")
}

// secrets matches URL parameters that authenticate requests.
var secrets = lazyre.New(`(?i)\b(x-amz-[a-z-]+|sig|se|sv|sp|token|signature|password|secret|key|accesskey|sharedkey)=[^&\s"]+`)
