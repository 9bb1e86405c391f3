package s3

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/awsauth"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// TestRedirectElsewhere: a server that is no part of the store gets no session token and no signature. Its response
// counts: some stores have objects on other servers, by URLs that are signed.
func TestRedirectElsewhere(t *testing.T) {
	for first, test := range map[string]struct {
		to     string
		signed bool
	}{
		"s3://bags":                      {"https://bags.s3-us-west-2.amazonaws.com/a.bag", true},
		"s3://bags?region=eu-central-1":  {"https://bags.evil.com/a.bag?X-Amz-Signature=1", false},
		"s3://bags?endpoint=http://h:1":  {"https://h:2/a.bag", true},
		"s3://bags?endpoint=http://h":    {"http://zone.h/a.bag", true},
		"s3://bags?endpoint=http://k.io": {"http://evilk.io/a.bag", false},
		"s3://bags?endpoint=http://m":    {"http://bags.s3.amazonaws.com/a.bag", false},
	} {
		environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "token"})
		b, err := open(t, first)
		if err != nil {
			t.Fatal(err)
		}
		requests := 0
		b.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			requests++
			resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
			if requests == 1 {
				resp.StatusCode = http.StatusTemporaryRedirect
				resp.Header.Set("Location", test.to)
				return resp, nil
			}
			sent := r.Header.Get("Authorization")+r.Header.Get("X-Amz-Security-Token") != ""
			if r.URL.String() != test.to || sent != test.signed {
				t.Errorf("%s: %s, signed: %v, want %v", test.to, r.URL, sent, test.signed)
			}
			return resp, nil
		})
		r, err := b.Open(t.Context(), "a.bag", 0, -1)
		if err != nil || requests != 2 {
			t.Errorf("%s: %d requests, %v", test.to, requests, err)
			continue
		}
		r.Close()
	}
}

// TestRegionOfServer: what is no name of a region never becomes part of a host.
func TestRegionOfServer(t *testing.T) {
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"})
	b, err := open(t, "s3://bags")
	if err != nil {
		t.Fatal(err)
	}
	b.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "bags.s3.us-east-1.amazonaws.com" {
			t.Errorf("a request to %s", r.URL.Host)
		}
		h := http.Header{"X-Amz-Bucket-Region": {"evil.com:80."}}
		return &http.Response{StatusCode: http.StatusBadRequest, Header: h, Body: http.NoBody, Request: r}, nil
	})
	for range 2 {
		var said *Error
		if err := b.Delete(t.Context(), "a.bag"); !errors.As(err, &said) {
			t.Error(err)
		}
	}
}

// TestClockOfReader: the response to a HEAD, the first request of whoever reads, names no code.
func TestClockOfReader(t *testing.T) {
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Add(-26 * time.Hour)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil || now.Sub(at).Abs() > 15*time.Minute {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Length", "5")
	}, "")
	if a, err := b.Attributes(t.Context(), "a.bag"); err != nil || a.Size != 5 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestTokenEnded: credentials that the store knows to have ended, whatever the clock of this machine says, are looked
// for again; those of the environment stay what they are.
func TestTokenEnded(t *testing.T) {
	var asked, requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		fmt.Fprintf(w, `{"AccessKeyId":"k%d","SecretAccessKey":"s","Token":"t","Expiration":%q}`, asked.Add(1), end)
	}))
	t.Cleanup(s.Close)
	code := "<Error><Code>ExpiredToken</Code></Error>"
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=k2/") {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, code)
			return
		}
		w.Header().Set("Content-Length", "0")
	}, "")
	if err := b.Delete(t.Context(), "a.bag"); err == nil || requests.Load() != 1 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL)
	for _, do := range []func() error{
		func() error { return b.Delete(t.Context(), "a.bag") },
		func() error { _, err := b.Attributes(t.Context(), "a.bag"); return err }, // whose response has no code
	} {
		b.creds = &awsauth.Provider{Client: b.client}
		asked.Store(0)
		if err := do(); err != nil || asked.Load() != 2 {
			t.Errorf("asked %d times, %v", asked.Load(), err)
		}
	}
	b.creds = &awsauth.Provider{Client: b.client}
	asked.Store(2) // none is accepted
	if _, err := b.Attributes(t.Context(), "a.bag"); err == nil || asked.Load() != 4 {
		t.Errorf("asked %d times, %v", asked.Load()-2, err)
	}
}

// TestRoleServiceAway: while the service for roles is away, the store is not reachable, rather than refusing.
func TestRoleServiceAway(t *testing.T) {
	status := http.StatusServiceUnavailable
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(s.Close)
	b := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request without a role") }, "&role=arn:r")
	t.Setenv("AWS_ENDPOINT_URL_STS", s.URL)
	ask := func(want error) {
		t.Helper()
		if err := b.at.Explain(b.Delete(t.Context(), "a.bag")); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	ask(place.ErrUnreachable)
	status = http.StatusForbidden
	ask(place.ErrDenied)
	s.Close()
	ask(place.ErrUnreachable)
}

// TestBodyAgain: the body of a request that net/http sends again by itself is counted and limited, too.
func TestBodyAgain(t *testing.T) {
	b := serve(t, nil, "")
	content := "a bag"
	b.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		body := r.Body
		for range 2 {
			if text, err := io.ReadAll(body); err != nil || string(text) != content {
				t.Errorf("%q, %v", text, err)
			}
			var err error
			if body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	if err := b.Put(t.Context(), "a.bag", fileOf(t, []byte(content))); err != nil || b.meter.Sent() != int64(2*len(content)) {
		t.Errorf("%d bytes, %v", b.meter.Sent(), err)
	}
}
