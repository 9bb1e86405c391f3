package place

import (
	"errors"
	"net/url"
	"strings"
	"testing"
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
