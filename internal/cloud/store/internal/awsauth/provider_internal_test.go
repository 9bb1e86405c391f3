package awsauth

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestProcessWithChildren: a program that has to be ended may leave others behind, which still hold its output.
func TestProcessWithChildren(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := fromProcess(ctx, "sleep 20 & wait"); err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// TestRoleTimeout: a service for roles that never answers holds up no upload without end.
func TestRoleTimeout(t *testing.T) {
	client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if _, ok := r.Context().Deadline(); !ok {
			t.Error("no deadline")
		}
		return nil, io.EOF
	})}
	p := Provider{Client: client}
	if _, err := p.assume(t.Context(), Credentials{Key: "k", Secret: "s"}, Profile{"role_arn": "r"}); err == nil {
		t.Error("no error")
	}
}

// roundTripper responds as a function does.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestMachineWithoutTokens: in a container the token of a machine may be out of reach, and older services have none.
// The credentials are there without it, unless the user forbids that.
func TestMachineWithoutTokens(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const roles = "/latest/meta-data/iam/security-credentials/"
		switch r.Method + r.URL.Path {
		case "GET" + roles:
			io.WriteString(w, "fleet")
		case "GET" + roles + "fleet":
			io.WriteString(w, `{"AccessKeyId":"machine","SecretAccessKey":"s"}`)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", s.URL)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_V1_DISABLED", "")
	var p Provider
	if c, err := p.fromEC2(t.Context()); err != nil || c.Key != "machine" {
		t.Errorf("%q, %v", c.Key, err)
	}
	t.Setenv("AWS_EC2_METADATA_V1_DISABLED", "true")
	if _, err := p.fromEC2(t.Context()); err == nil {
		t.Error("credentials without a token")
	}
}

// TestServiceRedirects: the service of a container or a machine does not lead its token elsewhere.
func TestServiceRedirects(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Errorf("a request to %s with %q", r.URL, r.Header)
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	t.Cleanup(s.Close)
	if _, err := text(t.Context(), http.MethodGet, s.URL, map[string]string{"X-Aws-Ec2-Metadata-Token": "t"}); err == nil {
		t.Error("no error")
	}
}

// TestNoHome: without a home directory, no file below the current one is read: it may run programs.
func TestNoHome(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "")
	t.Setenv("AWS_CONFIG_FILE", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "")
	if err := os.Mkdir(".aws", 0o700); err != nil {
		t.Fatal(err)
	}
	text := "[default]\ncredential_process = echo\n"
	if err := os.WriteFile(filepath.Join(".aws", "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadProfile(""); err != nil || len(p) > 0 {
		t.Errorf("%v, %v", p, err)
	}
}
