package response

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// TestListEnds: a list with new pages and new names each time ends as well.
func TestListEnds(t *testing.T) {
	t.Parallel()
	var p pages
	n, err := 0, error(nil)
	for ; err == nil && n <= 2*maxPages; n++ {
		err = p.next(&http.Request{URL: &url.URL{Host: "store", RawQuery: strconv.Itoa(n)}})
		p.count()
	}
	if n != maxPages+1 || !errors.Is(err, place.ErrBadResponse) {
		t.Errorf("%d pages, %v", n, err)
	}
}

// roundTripper responds as a function does.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBodiesAreBounded: as many bytes of a body as its kind may have, and then its end or an error.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		ranged string
		length int // of the body
		want   int
		err    error
	}{
		"an error":          {status: 500, length: 1000, want: 1000},
		"a long error":      {status: 500, length: maxErrorBytes + 1, want: maxErrorBytes},
		"the error of many": {status: 416, ranged: "bytes=0-9", length: maxErrorBytes + 1, want: maxErrorBytes},
		"a page":            {status: 200, length: MaxBodyBytes, want: MaxBodyBytes},
		"a long page":       {status: 200, length: MaxBodyBytes + 1, want: MaxBodyBytes, err: place.ErrBadResponse},
		"a range":           {status: 206, ranged: "bytes=0-9", length: 10, want: 10},
		"more than a range": {status: 206, ranged: "bytes=0-9", length: 11, want: 10, err: place.ErrBadResponse},
	} {
		body := strings.NewReader(strings.Repeat("x", test.length))
		client := http.Client{Transport: Transport{roundTripper(func(r *http.Request) (*http.Response, error) {
			h := http.Header{"Content-Range": {"bytes 0-9/10"}}
			return &http.Response{StatusCode: test.status, Header: h, Body: io.NopCloser(body), Request: r}, nil
		})}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://store/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.ranged != "" {
			req.Header.Set("Range", test.ranged)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(resp.Body)
		if len(got) != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRangeBeyondTheEnd: an object that has lost the requested bytes has changed, and is not asked for again. Of one
// whose length is not known, or never had these bytes, the response is left as it is.
func TestRangeBeyondTheEnd(t *testing.T) {
	t.Parallel()
	client := http.Client{Transport: Transport{roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusRequestedRangeNotSatisfiable, Body: http.NoBody, Request: r}, nil
	})}}
	for size, changed := range map[int64]bool{-1: false, 100: false, 101: true} {
		ctx := context.WithValue(t.Context(), versionOf{}, NewVersion(size))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://store/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Range", "bytes=100-199")
		resp, err := client.Do(req)
		if errors.Is(err, place.ErrChanged) != changed || (err == nil) == changed {
			t.Errorf("of %d bytes: %v", size, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

// TestFailuresAreNoPages: a page that comes after some failures is not one that is repeated.
func TestFailuresAreNoPages(t *testing.T) {
	t.Parallel()
	statuses := []int{0, 503, 500, 0, 429, 200, 200, 503, 200, 200}
	n := 0
	client := http.Client{Transport: Transport{roundTripper(func(r *http.Request) (*http.Response, error) {
		status := statuses[n]
		n++
		if status == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
	})}}
	ctx := WithPages(t.Context())
	for i, status := range statuses {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://store/?page=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if last := i == len(statuses)-1; errors.Is(err, place.ErrBadResponse) != last || (err == nil) != (status > 0 && !last) {
			t.Errorf("response %d: %v", i, err)
		}
	}
}

// TestSurvive: a driver that takes a part of a response for granted ends no program, and its user is told of the store and
// not of the driver.
func TestSurvive(t *testing.T) {
	t.Parallel()
	var entry *struct{ Name string }
	for name, call := range map[string]func() error{
		"a part that is missing": func() error { t.Log(entry.Name); return nil },
		"a part that is short":   func() error { t.Log([]string{}[len(t.Name())]); return nil },
	} {
		err := Survive(call)
		if !errors.Is(err, place.ErrBadResponse) || !strings.Contains(err.Error(), "incomplete") {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range []string{"runtime", "nil", "pointer", "index", "range"} {
			if strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v has a text of Go: %q", name, err, text)
			}
		}
	}
	if err := Survive(func() error { return errTooLong }); !errors.Is(err, errTooLong) {
		t.Errorf("an error becomes %v", err)
	}
}
