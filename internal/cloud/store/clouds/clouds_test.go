package clouds_test

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// TestClouds: bags are uploaded to Google and Azure, listed, and read in ranges there.
func TestClouds(t *testing.T) {
	c := newCloud(t)
	c.use(t)
	content := make([]byte, 20<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	for _, base := range []string{"gs://bags/robot7", "azblob://bags/robot7"} {
		b, err := store.OpenBucket(t.Context(), base, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if unchecked, err := b.Check(t.Context()); err != nil || unchecked != "" {
			t.Errorf("%s: check: %q, %v", base, unchecked, err)
		}
		sums, err := b.Sum(t.Context(), bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		file := &store.File{ReaderAt: bytes.NewReader(content), Name: "a.bag", Sums: sums, Exclusive: true}
		if found, err := b.Find(t.Context(), "a.bag"); err != nil || found.Compare(&sums) != store.Absent {
			t.Errorf("%s: before the upload: %v, %v", base, found.Compare(&sums), err)
		}
		if err := b.Put(t.Context(), file); err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		if found, err := b.Find(t.Context(), "a.bag"); err != nil || found.Compare(&sums) != store.Proven {
			t.Errorf("%s: after the upload: %v, %v", base, found.Compare(&sums), err)
		}
		if err := b.Put(t.Context(), file); !errors.Is(err, store.ErrExists) {
			t.Errorf("%s: uploaded again: %v", base, err)
		}
		if names, err := store.Expand(t.Context(), strings.Replace(base, "robot7", "rob*/*.bag", 1), nil); err != nil || !slices.Equal(names, []string{base + "/a.bag"}) {
			t.Errorf("%s: %q, %v", base, names, err)
		}
		o, err := store.Open(t.Context(), base+"/a.bag")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		if err = errors.Join(err, o.Close()); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: read %d bytes of %d: %v", base, len(got), len(content), err)
		}
		if err := b.Delete(t.Context(), "a.bag"); err != nil {
			t.Error(err)
		}
	}
	if len(c.objects) > 0 {
		t.Errorf("%d objects are left", len(c.objects))
	}
}

// TestCloudErrors: of requests that Google and Azure refuse, people are told what to do, and only what may pass by
// itself is ErrUnreachable.
func TestCloudErrors(t *testing.T) {
	c := newCloud(t)
	c.use(t)
	for name, test := range map[string]struct {
		status        int
		google, azure string // what the store says
		want, wantGS  string
		is            error
	}{
		"wrong secret":  {status: 403, azure: "AuthenticationFailed", want: "the store says AuthenticationFailed: the store does not accept the credentials: set AZURE_STORAGE_ACCOUNT", is: store.ErrDenied},
		"unknown token": {status: 401, google: "Invalid Credentials", wantGS: "the store says Invalid Credentials: the store does not accept the credentials: set GOOGLE_APPLICATION_CREDENTIALS", is: store.ErrDenied},
		"no permission": {status: 403, google: "robot@fleet does not have storage.objects.create access", azure: "AuthorizationPermissionMismatch", want: "the store says AuthorizationPermissionMismatch: the key or token lacks a permission", wantGS: "storage.objects.create access: the account lacks a permission", is: store.ErrDenied},
		"busy":          {status: 503, google: "Backend Error", azure: "ServerBusy", want: "the store says ServerBusy", wantGS: "the store says Backend Error", is: store.ErrUnreachable},
		"too many":      {status: 429, google: "rateLimitExceeded", azure: "TooManyRequests", want: "the store says TooManyRequests", wantGS: "the store says rateLimitExceeded", is: store.ErrUnreachable},
		"no bucket":     {status: 404, google: "The specified bucket does not exist.", azure: "ContainerNotFound", want: "the store says ContainerNotFound: make the container first, or check its name", wantGS: "does not exist.: make the bucket first, or check its name", is: store.ErrNotFound},
		"no object":     {status: 404, google: "No such object: bags/a.bag", azure: "BlobNotFound", want: ": no such object", wantGS: ": no such object", is: store.ErrNotFound},
	} {
		for base, says := range map[string]string{"gs://bags": test.google, "azblob://bags": test.azure} {
			if says == "" {
				continue
			}
			c.mu.Lock()
			c.fail = func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Retry-After-Ms", "1") // for the SDK of Azure
				if strings.HasPrefix(base, "gs:") {
					googleError(w, test.status, says, "any")
				} else {
					azureError(w, test.status, says)
				}
			}
			c.mu.Unlock()
			want := test.want
			if strings.HasPrefix(base, "gs:") {
				want = test.wantGS
			}
			b, err := store.OpenBucket(t.Context(), base, 0)
			if err != nil {
				t.Fatal(err)
			}
			writeErr := b.WriteAll(t.Context(), "a.bag", []byte("a bag"))
			_, openErr := store.Open(t.Context(), base+"/a.bag")
			b.Close()
			for what, err := range map[string]error{"write": writeErr, "open": openErr} {
				if err == nil || !errors.Is(err, test.is) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: %s: %v, want %q", name, base, what, err, want)
				}
			}
		}
	}
}

// TestCloudsAway: while a store is not reachable, a request ends soon, and the error says so.
func TestCloudsAway(t *testing.T) {
	c := newCloud(t)
	c.use(t)
	c.Close()
	for _, url := range []string{"gs://bags/a.bag", "azblob://bags/a.bag"} {
		_, err := store.Open(t.Context(), url)
		if !errors.Is(err, store.ErrUnreachable) || !strings.Contains(err.Error(), "connection refused: check the network") {
			t.Errorf("%v", err)
		}
	}
}

// TestNoCloudCredentials: without credentials, and with a key file that is not there, the error says which variable
// to set, and nothing is printed.
func TestNoCloudCredentials(t *testing.T) {
	c := newCloud(t)
	c.use(t)
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("HOME", t.TempDir())
	nowhere := filepath.Join(t.TempDir(), "key.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", nowhere)
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	printed, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = printed
	_, err = store.Open(context.Background(), "gs://bags/a.bag")
	os.Stdout = stdout
	if !errors.Is(err, store.ErrDenied) || !strings.Contains(err.Error(), nowhere) || !strings.Contains(err.Error(), "set GOOGLE_APPLICATION_CREDENTIALS to a key file") {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(printed.Name())
	if err = errors.Join(err, printed.Close()); err != nil || len(text) > 0 {
		t.Errorf("printed %q, %v", text, err)
	}
}

// TestGoogleKey: of a key that Google does not accept, and of a token server that is not reachable, the error says which
// of both it is.
func TestGoogleKey(t *testing.T) {
	c := newCloud(t)
	c.use(t)
	c.fail = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	private, err := rsa.GenerateKey(crand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "robot@fleet", "private_key_id": "1", "token_uri": c.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})),
	})
	if err = errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	_, err = store.Open(t.Context(), "gs://bags/a.bag")
	if !errors.Is(err, store.ErrDenied) || !strings.Contains(err.Error(), "Google does not accept the key: ") || !strings.Contains(err.Error(), "Invalid JWT Signature") {
		t.Errorf("wrong key: %v", err)
	}
	c.Close()
	_, err = store.Open(t.Context(), "gs://bags/a.bag")
	if !errors.Is(err, store.ErrUnreachable) || !strings.Contains(err.Error(), "Google's server of tokens is not reachable: ") || !strings.Contains(err.Error(), "connection refused: check the network") {
		t.Errorf("no token server: %v", err)
	}
}
