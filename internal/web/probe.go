package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// probeTimeout bounds a probe as a whole: container engines wait three seconds by default.
const probeTimeout = 2 * time.Second

// Probe requests livez, readyz or healthz of the server with this address on this machine;
// the default is livez. It returns nil if the server is healthy.
func Probe(ctx context.Context, listen, token string, named ...string) error {
	what := "livez"
	switch len(named) {
	case 0:
	case 1:
		what = named[0]
	default:
		return errors.New("healthcheck takes one of the words livez, readyz and healthz")
	}
	if !slices.Contains([]string{"livez", "readyz", "healthz"}, what) {
		return fmt.Errorf("healthcheck %q: want livez, readyz or healthz", what)
	}
	if listen == "" {
		return errors.New("healthcheck: no address: give --http or set its variable, as for the program to check")
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("healthcheck: --http %s: want HOST:PORT", listen)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/"+what, http.NoBody)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read from
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	var h Health
	if json.NewDecoder(io.LimitReader(answer.Body, maxBodyBytes)).Decode(&h) != nil || len(h.Problems) == 0 {
		return fmt.Errorf("healthcheck: %s: %s", what, answer.Status)
	}
	return fmt.Errorf("healthcheck: %s: %s", what, strings.Join(h.Problems, "; "))
}
