package master

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// transport makes a RoundTripper of a function.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newTestNotifier() *notifier {
	return newNotifier(zap.NewNop(), new(sync.Mutex), new(atomic.Uint64))
}

func noArgs() []any { return nil }

// A node that is away for long is told soon after it is back: the wait grows with
// the attempts for one notice, not with all notices that failed.
func TestBackoffIsPerNotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier()
		defer n.close()
		var at []time.Duration
		start := time.Now()
		n.http.Transport = transport(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			return nil, errors.New("no route to host")
		})
		const notices = 10
		for i := range notices {
			n.send("http://node:1/", &notice{key: fmt.Sprint(i), method: "m", args: noArgs})
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(at) != notices*maxAttempts {
			t.Fatalf("%d calls in an hour", len(at))
		}
		for i, d := range at {
			wait := []time.Duration{0, minBackoff, 3 * minBackoff, 7 * minBackoff}[i%maxAttempts]
			if want := time.Duration(i/maxAttempts)*7*minBackoff + wait; d != want {
				t.Errorf("call %d after %v, want %v", i, d, want)
			}
		}
	})
}

// However many nodes hang, one that answers is told at once.
func TestHangingNodesHoldUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier()
		defer n.close()
		told := false
		n.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "good:1" {
				told = true
				return nil, errors.New("good enough")
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		for i := range maxCalls {
			n.send(fmt.Sprintf("http://bad%d:1/", i), &notice{key: "k", method: "m", args: noArgs})
		}
		time.Sleep(callTimeout + 2*minBackoff) // all have failed and are tried again
		n.send("http://good:1/", &notice{key: "k", method: "m", args: noArgs})
		synctest.Wait()
		if !told {
			t.Error("not told at once")
		}
		if k := len(n.callSlots); k != maxCalls/2 {
			t.Errorf("%d calls to hanging nodes", k)
		}
	})
}

// URIs that somebody makes up cost bounded memory, and shutdown notices to them
// leave room for those that matter.
func TestQueuesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier()
		defer n.close()
		n.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		for _, tt := range []struct {
			name string
			once bool
			want int
		}{{"old", true, maxQueues / 2}, {"new", false, maxQueues}} {
			for i := range maxQueues + 10 {
				n.send(fmt.Sprintf("http://%s%d:1/", tt.name, i), &notice{key: "k", method: "m", args: noArgs, once: tt.once})
			}
			synctest.Wait() // no goroutine is about to take a notice, or changes the table
			if got := len(n.queues); got != tt.want {
				t.Errorf("%s: %d queues, want %d", tt.name, got, tt.want)
			}
		}
		n.send("http://new0:1/", &notice{key: "another", method: "m", args: noArgs}) // it has its queue
		synctest.Wait()
		if got := n.queues["http://new0:1/"].pending.Len(); got == 0 {
			t.Error("a node with a queue is not told")
		}
	})
}
