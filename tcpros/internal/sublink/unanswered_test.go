package sublink

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Errors of a network that is down are distinguished from replies of a machine.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_, late := http.DefaultClient.Do(req) //nolint:bodyclose // there is none
	dial := func(err error) error {
		return &rosapi.CallError{Method: "requestTopic", Err: &net.OpError{Op: "dial", Err: err}}
	}
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"timeout":         {late, true},
		"no route":        {dial(syscall.EHOSTUNREACH), true},
		"no network":      {dial(syscall.ENETUNREACH), true},
		"given up":        {dial(syscall.ETIMEDOUT), true},
		"refused":         {dial(syscall.ECONNREFUSED), false},
		"reset":           {dial(syscall.ECONNRESET), false},
		"no name server":  {&endpoint.ResolveError{Host: "h", Err: &net.DNSError{IsTimeout: true}}, true},
		"confused":        {&endpoint.ResolveError{Host: "h", Err: &net.DNSError{IsTemporary: true}}, true},
		"no such name":    {&endpoint.ResolveError{Host: "h", Err: &net.DNSError{IsNotFound: true}}, false},
		"refused in text": {&wire.PeerError{Text: "no"}, false},
		"not taken":       {errors.Join(errOpen), false},
	} {
		if got := noReply(tt.err); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
