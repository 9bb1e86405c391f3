package tcpros

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// Whoever owes an answer for 15 s is gone. Who has nothing to answer, reads slowly or is
// on a bad line is there.
func TestSilence(t *testing.T) {
	t.Parallel()
	const s = time.Second
	never := func(time.Duration) bool { return false }
	always := func(time.Duration) bool { return true }
	for name, tt := range map[string]struct {
		owes  func(at time.Duration) bool
		heard func(at time.Duration) time.Duration // how long ago
		gone  time.Duration                        // zero for never
	}{
		"nothing to say":       {never, func(at time.Duration) time.Duration { return at }, 0},
		"busy":                 {always, func(time.Duration) time.Duration { return 30 * time.Millisecond }, 0},
		"answers now and then": {always, func(at time.Duration) time.Duration { return at % (14 * s) }, 0},
		"gone while busy":      {always, func(at time.Duration) time.Duration { return max(30*time.Millisecond, at-20*s) }, 36 * s}, // the check behind 35 s
		"asked after a rest":   {func(at time.Duration) bool { return at == 40*s }, func(at time.Duration) time.Duration { return at }, 0},
		"gone after a rest":    {func(at time.Duration) bool { return at >= 40*s }, func(at time.Duration) time.Duration { return at }, 56 * s},
		"closed window":        {func(at time.Duration) bool { return at%(4*s) == 0 }, func(at time.Duration) time.Duration { return at % (30 * s) }, 0}, // a probe is just out
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			var silent silence
			gone := time.Duration(0)
			for at := time.Duration(0); at <= 2*time.Minute && gone == 0; at += silentCheck {
				if silent.over(start.Add(at), tt.owes(at), tt.heard(at)) {
					gone = at
				}
			}
			if gone != tt.gone {
				t.Errorf("gone after %v, want %v", gone, tt.gone)
			}
		})
	}
}

// What a network that is down looks like is told from what a machine answers.
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
		return &CallError{Method: "requestTopic", Err: &net.OpError{Op: "dial", Err: err}}
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
		"no name server":  {&ResolveError{"h", &net.DNSError{IsTimeout: true}}, true},
		"confused":        {&ResolveError{"h", &net.DNSError{IsTemporary: true}}, true},
		"no such name":    {&ResolveError{"h", &net.DNSError{IsNotFound: true}}, false},
		"refused in text": {&PeerError{"no"}, false},
		"not taken":       {errors.Join(errOpen), false},
	} {
		if got := unanswered(tt.err); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
