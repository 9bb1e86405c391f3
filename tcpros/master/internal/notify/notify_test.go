package notify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// transport makes a RoundTripper of a function.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newTestNotifier() *Notifier {
	return New(zap.NewNop(), new(sync.Mutex), new(atomic.Uint64))
}

func noArgs() []any { return nil }

// A node that is away for long gets its notices soon after it is back: the wait grows with the
// attempts for one notice, not with the number of failed notices.
func TestBackoffIsPerNotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier()
		defer n.Close()
		var at []time.Duration
		start := time.Now()
		n.http.Transport = transport(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			return nil, errors.New("no route to host")
		})
		const notices = 10
		for i := range notices {
			n.Send("http://node:1/", &Notice{Key: fmt.Sprint(i), Method: "m", Args: noArgs})
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

// Only a call that got no answer is repeated: not one that was answered or refused, and no shutdown.
func TestAttempts(t *testing.T) {
	t.Parallel()
	ok, err := xmlrpc.EncodeResponse(1<<10, []any{1, "", 0})
	if err != nil {
		t.Fatal(err)
	}
	fault := xmlrpc.AppendFault(nil, &xmlrpc.Fault{Code: 1, Text: "no such method"})
	for name, tt := range map[string]struct {
		answer []byte
		err    error
		once   bool
		want   int
	}{
		"answered":  {answer: ok, want: 1},
		"fault":     {answer: fault, want: 1},
		"refused":   {err: syscall.ECONNREFUSED, want: 1},
		"no answer": {err: errors.New("no route to host"), want: maxAttempts},
		"shutdown":  {err: errors.New("no route to host"), once: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newTestNotifier()
				defer n.Close()
				calls := 0
				n.http.Transport = transport(func(*http.Request) (*http.Response, error) {
					calls++
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(tt.answer))}, tt.err
				})
				n.Send("http://node:1/", &Notice{Key: "k", Method: "m", Args: noArgs, Once: tt.once})
				time.Sleep(time.Minute)
				synctest.Wait()
				if calls != tt.want {
					t.Errorf("%d calls, want %d", calls, tt.want)
				}
			})
		})
	}
}

// For any number of hanging nodes, a node that answers is notified at once.
func TestHangingNodesHoldUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier()
		defer n.Close()
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
			n.Send(fmt.Sprintf("http://bad%d:1/", i), &Notice{Key: "k", Method: "m", Args: noArgs})
		}
		time.Sleep(callTimeout + 2*minBackoff) // all have failed and are tried again
		n.Send("http://good:1/", &Notice{Key: "k", Method: "m", Args: noArgs})
		synctest.Wait()
		if !told {
			t.Error("not told at once")
		}
		if k := len(n.callSlots); k != maxCalls/2 {
			t.Errorf("%d calls to hanging nodes", k)
		}
	})
}

// URIs that somebody makes up cost bounded memory, and shutdown notices to them leave room for
// notices that matter.
func TestQueuesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier()
		defer n.Close()
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
				n.Send(fmt.Sprintf("http://%s%d:1/", tt.name, i), &Notice{Key: "k", Method: "m", Args: noArgs, Once: tt.once})
			}
			synctest.Wait() // no goroutine is about to take a notice, or changes the table
			if got := len(n.queues); got != tt.want {
				t.Errorf("%s: %d queues, want %d", tt.name, got, tt.want)
			}
		}
		n.Send("http://new0:1/", &Notice{Key: "another", Method: "m", Args: noArgs}) // it has its queue
		synctest.Wait()
		if got := n.queues["http://new0:1/"].pending.Len(); got == 0 {
			t.Error("a node with a queue is not told")
		}
	})
}

// A node that accepts no call costs bounded memory, and its newest notices stay queued. The log has the others.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	n := newTestNotifier()
	core, log := observer.New(zap.WarnLevel)
	n.log = zap.New(core)
	defer n.Close()
	for range maxCalls {
		n.callSlots <- struct{}{} // as if all calls were in progress
	}
	const uri = "http://127.0.0.1:1/"
	n.Send(uri, &Notice{Key: "first", Method: "m", Args: noArgs})
	n.mu.Lock()
	q := n.queues[uri]
	for q.pending.Len() > 0 { // until the first call is in progress: then no other notice leaves the queue
		n.mu.Unlock()
		runtime.Gosched()
		n.mu.Lock()
	}
	n.mu.Unlock()
	for i := range 3 * maxPending {
		n.Send(uri, &Notice{Key: fmt.Sprint(i), Method: "m", Args: noArgs})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if got := q.pending.Len(); got != maxPending || len(q.byKey) != got {
		t.Errorf("%d pending, %d keys", got, len(q.byKey))
	}
	if last, _ := q.pending.Back().Value.(*queued); last.Key != fmt.Sprint(3*maxPending-1) {
		t.Errorf("last is %s", last.Key)
	}
	if got := log.Len(); got != 2*maxPending {
		t.Errorf("%d dropped notices in the log, want %d", got, 2*maxPending)
	}
}
