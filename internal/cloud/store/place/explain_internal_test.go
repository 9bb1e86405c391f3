package place

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestNoCredentials: what the SDKs of other stores say without credentials helps nobody.
// Those stores are in builds with tags only, so the texts stand here.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, text, advice string }{
		{"gs://bags/a.bag", "private key should be a PEM or plain PKCS1 or PKCS8; Parse error: asn1: syntax error: sequence truncated", "GOOGLE_APPLICATION_CREDENTIALS"},
		{"gs://bags/a.bag", "google: could not find default credentials. See https://cloud.google.com/docs", "GOOGLE_APPLICATION_CREDENTIALS"},
		{"azblob://bags/a.bag", "azureblob: Options.AccountName is required", "AZURE_STORAGE_ACCOUNT"},
		{"azblob://bags/a.bag", "blob (key \"a.bag\") (code=Unknown): DefaultAzureCredential: failed to acquire a token.", "AZURE_STORAGE_KEY"},
	} {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		err = Place{URL: u}.Explain(errors.New(test.text))
		if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), test.advice) || strings.Contains(err.Error(), "asn1") {
			t.Errorf("%s: %v", test.text, err)
		}
	}
}

// TestCloudResponses: the texts of the SDKs of Google and Azure, as their drivers return them.
func TestCloudResponses(t *testing.T) {
	t.Parallel()
	azure := func(status, code string) string {
		return `blob (key "a.bag") (code=Unknown): PUT https://robots.blob.core.windows.net/bags/a.bag` + "\n---\nRESPONSE " + status + "\nERROR CODE: " + code +
			"\n---\n<Error><Code>" + code + "</Code></Error>\n---\n"
	}
	google := func(text string) string { return `blob (key "a.bag") (code=NotFound): googleapi: ` + text }
	const key = "set GOOGLE_APPLICATION_CREDENTIALS to a key file"
	for _, test := range []struct {
		url, text, want string
		kind            error
	}{
		{"gs://bags", google("Error 401: Invalid Credentials, authError"), "the store says Invalid Credentials: the store does not accept the credentials: " + key, ErrDenied},
		{"gs://bags", google("Error 403: robot has no access., forbidden"), "the store says robot has no access.: " + cloudPermission[SchemeGS], ErrDenied},
		{"gs://bags", google("got HTTP response code 403 with body: <html>"), "the store says 403 Forbidden: " + cloudPermission[SchemeGS], ErrDenied},
		{"gs://bags", google("Error 404: The specified bucket does not exist., notFound"), "the store says The specified bucket does not exist.: make the bucket first, or check its name", ErrNotFound},
		{"gs://bags", google("Error 404: No such object: bags/a.bag, notFound"), "no such object", ErrNotFound},
		{"gs://bags", google("Error 412: At least one of the pre-conditions did not hold., conditionNotMet"), "there is another object of this name", ErrExists},
		{"gs://bags", google("Error 503: Backend Error, backendError"), "the store says Backend Error", ErrUnreachable},
		{"gs://bags", google("Error 400: token=abc is wrong, invalid"), "the store says token=… is wrong", nil},
		{"gs://bags", `Get "https://storage.googleapis.com/": oauth2: cannot fetch token: 400 Bad Request` + "\n" + `Response: {"error":"invalid_grant"}`, `Google does not accept the key: 400 Bad Request, Response: {"error":"invalid_grant"}: ` + key, ErrDenied},
		{"gs://bags", `oauth2: cannot fetch token: Post "https://oauth2.googleapis.com/token": dial tcp: lookup oauth2.googleapis.com: no such host`, "Google's server of tokens is not reachable: dial tcp: lookup oauth2.googleapis.com: no such host: check the network", ErrUnreachable},
		{"gs://bags", "google: error getting credentials using GOOGLE_APPLICATION_CREDENTIALS environment variable: open /key.json: no such file or directory", "open /key.json: no such file or directory: " + key, ErrDenied},
		{"azblob://bags", azure("403: 403 Server failed to authenticate the request.", "AuthenticationFailed"), "the store says AuthenticationFailed: the store does not accept the credentials: set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN", ErrDenied},
		{"azblob://bags", azure("403: 403 Forbidden", "AuthorizationPermissionMismatch"), "the store says AuthorizationPermissionMismatch: " + cloudPermission[SchemeAzure], ErrDenied},
		{"azblob://bags", azure("404: 404 Not Found", "ContainerNotFound"), "the store says ContainerNotFound: make the container first, or check its name", ErrNotFound},
		{"azblob://bags", azure("404: 404 Not Found", "BlobNotFound"), "no such object", ErrNotFound},
		{"azblob://bags", azure("409: 409 Conflict", "BlobAlreadyExists"), "there is another object of this name", ErrExists},
		{"azblob://bags", azure("503: 503 Busy", "ServerBusy"), "the store says ServerBusy", ErrUnreachable},
	} {
		at, err := Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		err = at.Explain(errors.New(test.text))
		if Message(err) != test.want || test.kind != nil && !errors.Is(err, test.kind) {
			t.Errorf("%s:\n%v, want\n%s", test.text, err, test.want)
		}
	}
}

// TestLongResponses: of a long text of a server the beginning is shown.
func TestLongResponses(t *testing.T) {
	t.Parallel()
	at, err := Parse("gs://bags")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{
		long,
		"googleapi: Error 400: " + long + ", invalid",
		"oauth2: cannot fetch token: 400 Bad Request\nResponse: " + long,
		`oauth2: cannot fetch token: Post "https://oauth2.googleapis.com/token": ` + long,
	} {
		if got := Message(at.Explain(errors.New(text))); len(got) > 2*maxReasonBytes || !strings.Contains(got, "xxx…") {
			t.Errorf("%.60s: %d bytes", text, len(got))
		}
	}
}

// TestUnknownHost: the driver of Azure calls a host that is not known a missing object.
func TestUnknownHost(t *testing.T) {
	t.Parallel()
	at, err := Parse("azblob://bags")
	if err != nil {
		t.Fatal(err)
	}
	err = at.Explain(fmt.Errorf("no object: %w", &net.DNSError{Name: "robots.blob.core.windows.net", Err: "no such host", IsNotFound: true}))
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), `host "robots.blob.core.windows.net" is not known here`) {
		t.Error(err)
	}
}

// TestUntrusted: the advice about the certificate of a CA considers what SSL_CERT_FILE and AWS_CA_BUNDLE name.
func TestUntrusted(t *testing.T) {
	dir := t.TempDir()
	nowhere, empty, other := filepath.Join(dir, "nowhere.pem"), filepath.Join(dir, "empty.pem"), filepath.Join(dir, "other.pem")
	var certificate []byte
	for r := range bundle.Roots() {
		certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate})
		break
	}
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), os.WriteFile(other, certificate, 0o600)); err != nil {
		t.Fatal(err)
	}
	at, err := Parse("s3://bags")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", "")
	for file, want := range map[string]string{
		"":      "set SSL_CERT_FILE to a PEM file",
		nowhere: "SSL_CERT_FILE names a file that this program cannot read (open " + nowhere + ": no such file or directory)",
		empty:   "SSL_CERT_FILE names a file without a certificate in PEM (" + empty + ")",
		other:   "add the certificate of that CA to the file that SSL_CERT_FILE names (" + other + ")",
	} {
		t.Setenv("SSL_CERT_FILE", file)
		if err := at.Explain(x509.UnknownAuthorityError{}); !strings.Contains(err.Error(), "is not trusted here: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Setenv("AWS_CA_BUNDLE", nowhere)
	_, err = os.Open(nowhere)
	if err := at.Explain(err); !strings.Contains(err.Error(), "no such file or directory: AWS_CA_BUNDLE has to name a PEM file") {
		t.Error(err)
	}
}

// TestDamagedObject: the SDK of S3 names algorithms and sums, and not what to do.
func TestDamagedObject(t *testing.T) {
	t.Parallel()
	at, err := Parse("s3://bags/a.bag")
	if err != nil {
		t.Fatal(err)
	}
	err = at.Explain(errors.New(`blob (key "a.bag") (code=Unknown): checksum did not match: algorithm CRC32, expect oicNBw==, actual ppvb4A==`))
	const want = "s3://bags/a.bag: the content does not match the checksum that the store has of it: the object is damaged: upload the bag again"
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
