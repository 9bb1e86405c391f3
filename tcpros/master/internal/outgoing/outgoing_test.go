package outgoing_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master/internal/outgoing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// of returns an encode function for a message of so many bytes.
func of(size int64) func(int64) ([]byte, error) {
	return func(room int64) ([]byte, error) {
		if size > room {
			return nil, &xmlrpc.LimitError{What: "message", Limit: room}
		}
		return make([]byte, size), nil
	}
}

func named(id string) func() string { return func() string { return id } }

// get gets a message of so many bytes, which must succeed.
func get(t *testing.T, b *outgoing.Budget, id string, size int64) *outgoing.Message {
	t.Helper()
	m, err := b.Get(t.Context(), named(id), of(size))
	if err != nil || int64(len(m.Body)) != size {
		t.Fatalf("message %q of %d bytes: %v", id, size, err)
	}
	return m
}

const large = outgoing.OutgoingBytes * 3 / 4 // two such messages do not fit

// TestRoom: a message waits until those before it are released. Small messages do not wait, and one of any
// size gets through alone.
func TestRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := outgoing.New()
		first := get(t, b, "", 2*outgoing.OutgoingBytes).Begin(func() { t.Error("revoked at once") })
		get(t, b, "", 1000).Begin(nil)()
		start := time.Now()
		time.AfterFunc(time.Second, first)
		second := get(t, b, "", large)
		if took := time.Since(start); took != time.Second {
			t.Errorf("got room after %v, want 1s", took)
		}
		get(t, b, "", outgoing.OutgoingBytes-large).Begin(nil)() // fits exactly
		second.Begin(nil)()
	})
}

// TestShared: messages with the same identity are encoded once, until the last user has released them.
func TestShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := outgoing.New()
		one, two := get(t, b, "x", large), get(t, b, "x", large)
		if one != two {
			t.Error("a message of the same identity is another one")
		}
		one.Begin(nil)()
		if three := get(t, b, "x", large); three != one {
			t.Error("the message is forgotten while it has a user")
		} else {
			three.Begin(nil)()
		}
		two.Begin(nil)()
		other := get(t, b, "x", large)
		if other == one {
			t.Error("a released message is used again")
		}
		other.Begin(nil)()
		a, c := get(t, b, "", 1<<20), get(t, b, "", 1<<20)
		if a == c {
			t.Error("messages without an identity are shared")
		}
		a.Begin(nil)()
		c.Begin(nil)()
	})
}

// TestSlowGivesWay: when others wait, the message with the largest product of bytes and time is revoked. It
// gets no more users, and while it is in use no other message is revoked.
func TestSlowGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, start := outgoing.New(), time.Now()
		endSmall := get(t, b, "small", outgoing.OutgoingBytes/4).Begin(func() { t.Error("the smaller message is revoked") })
		time.Sleep(100 * time.Millisecond) // in the bubble: the smaller message is older
		var endBig func()
		var revoked time.Duration
		endBig = get(t, b, "big", outgoing.OutgoingBytes/2).Begin(func() {
			revoked = time.Since(start)
			get(t, b, "big", 1000).Begin(nil)() // another message, as that one gets no more users
			time.AfterFunc(10*time.Second, endBig)
		})
		time.Sleep(3 * time.Second)
		next := get(t, b, "next", outgoing.OutgoingBytes/2)
		if revoked != 3100*time.Millisecond || time.Since(start) != 13100*time.Millisecond {
			t.Errorf("revoked after %v, the next has room after %v", revoked, time.Since(start))
		}
		next.Begin(nil)()
		endSmall()
	})
}

// TestOneGivesWay: while a revoked message is in use no other is revoked, even if that becomes the slower one.
func TestOneGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := outgoing.New()
		var endOld func()
		endOld = get(t, b, "", outgoing.OutgoingBytes/4).Begin(func() { time.AfterFunc(10*time.Second, endOld) })
		time.Sleep(5 * time.Second) // in the bubble
		endBig := get(t, b, "", outgoing.OutgoingBytes/2).Begin(func() { t.Error("a second message is revoked") })
		time.Sleep(3 * time.Second) // the product of the old message is larger, but grows more slowly
		get(t, b, "", outgoing.OutgoingBytes/2).Begin(nil)()
		endBig()
	})
}

// TestSlowAfter: a message is revoked no sooner than two seconds after it was encoded.
func TestSlowAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, start := outgoing.New(), time.Now()
		var end func()
		end = get(t, b, "", large).Begin(func() { end() })
		get(t, b, "", large).Begin(nil)()
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("room after %v, want 2s", took)
		}
	})
}

// TestNobodyWaits: a message is not revoked while there is room for others.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := outgoing.New()
		end := get(t, b, "", large).Begin(func() { t.Error("revoked, although nobody waits") })
		time.Sleep(time.Hour) // in the bubble
		end()
	})
}

// TestGiveUp: who waits for room, or for the turn of another, gives up with the context. An error of the
// encoder is no reason to wait.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := outgoing.New()
		end := get(t, b, "", large).Begin(func() {}) // a peer that never reads
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		results := make(chan error, 2)
		for range 2 { // the second one waits for the turn
			go func() {
				_, err := b.Get(ctx, named(""), of(large))
				results <- err
			}()
		}
		for range 2 {
			if err := <-results; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		}
		broken := errors.New("no such parameter")
		if _, err := b.Get(t.Context(), named(""), func(int64) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		end()
	})
}
