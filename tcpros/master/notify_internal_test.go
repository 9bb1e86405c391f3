package master

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// transport makes a RoundTripper of a function.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A node that is away for long is told soon after it is back: the wait grows with
// the attempts for one notice, not with all notices that failed.
func TestBackoffIsPerNotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNotifier(zap.NewNop())
		defer n.close()
		var at []time.Duration
		start := time.Now()
		n.http.Transport = transport(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			return nil, errors.New("no route to host")
		})
		const notices = 10
		for i := range notices {
			n.send("http://node:1/", &notice{key: fmt.Sprint(i), method: "m"})
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(at) != notices*maxAttempts {
			t.Fatalf("%d calls in an hour", len(at))
		}
		for i, d := range at {
			wait := []time.Duration{0, 500, 1500, 3500}[i%maxAttempts] * time.Millisecond
			if want := time.Duration(i/maxAttempts)*3500*time.Millisecond + wait; d != want {
				t.Errorf("call %d after %v, want %v", i, d, want)
			}
		}
	})
}
