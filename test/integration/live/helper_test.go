package live_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// page is what the tests ask of the state of a page.
type page struct {
	State struct {
		Topics []struct {
			Topic    string `json:"topic"`
			Messages int    `json:"messages"`
		} `json:"topics"`
	} `json:"state"`
	Live struct {
		Viewers []struct {
			Peer    string `json:"peer"`
			Skipped uint64 `json:"skipped"`
			Queued  int64  `json:"queued"`
		} `json:"viewers"`
		Skipped uint64 `json:"skipped"`
	} `json:"live"`
}

// webState returns the state of a page.
func webState(t *testing.T, host string) (p page) {
	t.Helper()
	resp, err := http.Get("http://" + host + "/api/v1/state")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

// webMessages returns how many messages of a topic are recorded or played.
func webMessages(t *testing.T, host, topic string) int {
	t.Helper()
	for _, s := range webState(t, host).State.Topics {
		if s.Topic == topic {
			return s.Messages
		}
	}
	return 0
}

// subscribeAs subscribes one viewer to channels that another one was told of.
func subscribeAs(t *testing.T, v, other *viewer.Viewer, topics ...string) {
	t.Helper()
	for _, topic := range topics {
		c, ok := other.Channel(topic)
		if !ok {
			t.Fatalf("%s is not offered", topic)
		}
		v.Expect(c)
	}
	if err := v.Subscribe(topics...); err != nil {
		t.Fatal(err)
	}
}

// slowly makes a connection read at most *limit bytes a second.
func slowly(mu *sync.Mutex, limit *int) func(net.Conn) net.Conn {
	return func(c net.Conn) net.Conn { return &slowConn{Conn: c, mu: mu, limit: limit} }
}

type slowConn struct {
	net.Conn
	mu    *sync.Mutex
	limit *int
}

// Read waits so long for its bytes that the rate is not exceeded, but at most 50 ms at a time.
func (c *slowConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	limit := *c.limit
	c.mu.Unlock()
	const steps = 20
	if limit > 1<<20 {
		return c.Conn.Read(b)
	}
	n, err := c.Conn.Read(b[:min(len(b), max(1, limit/steps))])
	<-time.After(time.Second / steps)
	return n, err
}

// last returns the last element, or the zero value.
func last[T any](all []T) (e T) {
	if len(all) > 0 {
		e = all[len(all)-1]
	}
	return e
}

func contains[T comparable](all []T, e T) bool { return slices.Contains(all, e) }

// residentMiB returns the most memory that a program had, in MiB.
func residentMiB(t *testing.T, p *harness.Process) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		t.Logf("the memory of %s is not known: %v", p.Name, err)
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "\nVmHWM:")
	var kib int
	fmt.Sscan(rest, &kib)
	return kib >> 10
}
