package store

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestEmbeddedRoots: where the system has no CA certificates, the embedded ones are trusted, and
// no sooner than a store is opened.
func TestEmbeddedRoots(t *testing.T) {
	t.Parallel()
	const env = "GOROSBAG_TEST_NO_ROOTS"
	if os.Getenv(env) == "" { // another process has to: roots are loaded once
		nowhere := filepath.Join(t.TempDir(), "nowhere")
		cmd := exec.Command(os.Args[0], "-test.run=^TestEmbeddedRoots$")
		cmd.Env = append(os.Environ(), env+"=1", "SSL_CERT_FILE="+nowhere, "SSL_CERT_DIR="+nowhere)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := verifyKnown(t); err == nil {
		t.Error("trusted before a store is opened: the system has roots")
	}
	embedRoots()
	if err := verifyKnown(t); err != nil {
		t.Error(err)
	}
}

// verifyKnown verifies a certificate that public servers are signed with.
func verifyKnown(t *testing.T) error {
	t.Helper()
	for r := range bundle.Roots() {
		if r.Constraint != nil {
			continue
		}
		cert, err := x509.ParseCertificate(r.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cert.Verify(x509.VerifyOptions{})
		return err
	}
	t.Fatal("no CA is embedded")
	return nil
}
