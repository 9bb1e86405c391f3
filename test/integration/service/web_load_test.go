package service_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// webLoads are what clients without a token do with each connection: they send the first
// text, then the other one each second.
var webLoads = map[string]struct{ first, then string }{
	"silent":               {"", ""},
	"slow header":          {"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ", "x"},
	"slow body":            {"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n", "x"},
	"event streams":        {"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n", ""},
	"idle after a request": {"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", ""},
}

// TestProbesOfLoadedServer: 600 clients that connect again whenever they are disconnected
// hold up no probe.
func TestProbesOfLoadedServer(t *testing.T) {
	t.Parallel()
	harness.Long(t, "keeps a thousand connections busy for seconds")
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Record("-a", "-O", "out", "--http="+host, "--http-token=0123456789abcdef")
	for name, load := range webLoads {
		end := putLoad(t, host, 600, load.first, load.then)
		stalls := g.Stalls(rec)
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
		var slowest time.Duration
		for i, excused := 0, 0; i < 10; i++ {
			path := []string{"/livez", "/readyz", "/healthz"}[i%3]
			stood, began := g.Stalls(), time.Now()
			r, err := client.Get("http://" + host + path)
			slowest = max(slowest, time.Since(began))
			if still := stood(); err != nil && still >= 100*time.Millisecond && excused < 20 {
				excused, i = excused+1, i-1 // this process may have sent its request too late
				t.Logf("%s: %v; this process stood still for %v", name, err, still)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			r.Body.Close()
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: %s: status %d", name, path, r.StatusCode)
			}
		}
		still := stalls()
		t.Logf("%s: the slowest probe took %v (the machine stood still for %v)", name, slowest, still)
		if slowest > time.Second+still {
			t.Errorf("%s: the slowest probe took %v, %v of which the machine stood still", name, slowest, still)
		}
		end()
	}
	rec.Stop()
}

// putLoad makes many clients connect over and over, until end is called. It returns when there
// were as many connections as clients.
func putLoad(t *testing.T, host string, clients int, first, then string) (end func()) {
	t.Helper()
	var connected atomic.Int32
	var done sync.WaitGroup
	stop := make(chan struct{})
	for range clients {
		done.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := net.Dial("tcp", host)
				if err != nil {
					t.Error(err)
					return
				}
				connected.Add(1)
				useSlowly(conn, first, then, stop)
			}
		})
	}
	harness.Eventually(t, "all have connected", func() bool { return int(connected.Load()) >= clients })
	return func() {
		close(stop)
		done.Wait()
	}
}

// useSlowly sends the texts until the server closes the connection, or stop is closed.
func useSlowly(conn net.Conn, first, then string, stop <-chan struct{}) {
	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, conn)
		close(closed)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	defer func() {
		conn.Close()
		<-closed
	}()
	for _, err := io.WriteString(conn, first); err == nil; {
		select {
		case <-tick.C:
			_, err = io.WriteString(conn, then)
		case <-closed:
			return
		case <-stop:
			return
		}
	}
}
