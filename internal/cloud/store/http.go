package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/ranges"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// httpTimeout bounds the time until the header of a response.
const httpTimeout = 30 * time.Second

// httpObject is a file on a web server that supports range requests.
type httpObject struct {
	at      place.Place
	client  *http.Client
	version *response.Version
}

// openHTTP requests the first byte to learn the size. HEAD would fail with URLs that are signed for GET.
func openHTTP(ctx context.Context, at place.Place) (ranges.Reader, int64, error) {
	embedRoots()
	transport := response.NewTransport()
	transport.ResponseHeaderTimeout = httpTimeout
	w := &httpObject{
		at: at, client: &http.Client{Transport: response.Transport{Next: transport}},
		version: response.NewVersion(-1),
	}
	resp, err := w.get(ctx, 0, 1)
	if err != nil {
		return nil, 0, errors.Join(err, w.Close())
	}
	resp.Body.Close() //nolint:errcheck,gosec // only read from
	if w.version.Size() < 0 {
		return nil, 0, errors.Join(at.Fail(nil, "the server does not report the size"), w.Close())
	}
	return w, w.version.Size(), nil
}

func (w *httpObject) Close() error {
	w.client.CloseIdleConnections()
	return nil
}

func (w *httpObject) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	resp, err := w.get(ctx, offset, length)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (w *httpObject) get(ctx context.Context, offset, length int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(response.WithVersion(ctx, w.version), http.MethodGet,
		w.at.URL.String(), nil)
	if err != nil {
		return nil, w.at.Fail(nil, "not a URL")
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.at.Explain(err)
	}
	if err = w.checkStatus(resp); err != nil {
		resp.Body.Close() //nolint:errcheck,gosec // not wanted
		return nil, err
	}
	return resp, nil
}

// checkStatus returns an error unless the response is the requested range.
func (w *httpObject) checkStatus(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return w.at.Fail(place.ErrNotFound, "%v", place.ErrNotFound)
	case http.StatusUnauthorized, http.StatusForbidden:
		return w.at.Fail(place.ErrDenied, "%v (%s)", place.ErrDenied, resp.Status)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return w.at.Fail(place.ErrUnreachable, "the server says %s: try again later", resp.Status)
	}
	return w.at.Fail(nil, "the server says %s", resp.Status)
}
