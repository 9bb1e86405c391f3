package web_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/face/web"
)

// load is what a client without a token does with each of its connections.
type load struct {
	first string        // what it sends at once
	then  string        // and at intervals; nothing if empty
	every time.Duration // the interval
	stays time.Duration // until it connects again; zero means forever
}

const host = " HTTP/1.1\r\nHost: localhost\r\n"

var loads = map[string]load{
	"silent":                   {},
	"slow header":              {first: "GET /livez" + host + "X: ", then: "x", every: time.Second},
	"slow body":                {first: "POST /login" + host + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n", then: "x", every: time.Second},
	"slow body of a command":   {first: "POST /api/v1/pause" + host + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n", then: " ", every: time.Second},
	"slow body of a probe":     {first: "GET /livez" + host + "Content-Length: 1000\r\n\r\n", then: "x", every: time.Second},
	"event streams":            {first: "GET /api/v1/events" + host + "\r\n"},
	"event streams, anew":      {first: "GET /api/v1/events" + host + "\r\n", stays: time.Second},
	"idle after a request":     {first: "GET /livez" + host + "\r\n"},
	"large slow header":        {first: "GET /livez" + host + strings.Repeat("X: "+strings.Repeat("x", 995)+"\r\n", 15), then: "x", every: time.Second},
	"requests again and again": {first: "GET /livez" + host + "\r\n", then: "GET /livez" + host + "\r\n", every: web.EvictableAfter / 2},
}

// run does it until the connection is closed, or closes it.
func (l load) run(conn net.Conn) {
	defer conn.Close()
	closed := make(chan struct{})
	// owner: run's caller; ends with the connection.
	go func() {
		io.Copy(io.Discard, conn)
		close(closed)
	}()
	var enough, next <-chan time.Time
	if l.stays > 0 {
		enough = time.After(l.stays)
	}
	if l.every > 0 {
		tick := time.NewTicker(l.every)
		defer tick.Stop()
		next = tick.C
	}
	for _, err := io.WriteString(conn, l.first); err == nil; {
		select {
		case <-next:
			_, err = io.WriteString(conn, l.then)
		case <-enough:
			return
		case <-closed:
			return
		}
	}
}

// put puts a load of many clients on a server until the test ends. Each client connects
// again as soon as it has been disconnected.
func (p *pipes) put(t *testing.T, clients int, address string, l load) {
	t.Helper()
	var connected atomic.Int32
	for range clients {
		// owner: the bubble; ends with the test.
		go func() {
			for {
				conn, err := p.dialFrom(t.Context(), address)
				if err != nil {
					return
				}
				connected.Add(1)
				stop := context.AfterFunc(t.Context(), func() { conn.Close() })
				l.run(conn)
				stop()
			}
		}()
	}
	for connected.Load() < int32(clients) {
		time.Sleep(time.Millisecond)
	}
}

// manyClients are more than one address may have connections.
const manyClients = web.AddressConnections + 100

// TestProbesUnderLoad: whatever many clients of the same address do, probes are answered
// within a second, and connections are bounded.
func TestProbesUnderLoad(t *testing.T) {
	t.Parallel()
	for name, load := range loads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			probesUnder(t, load, withToken)
		})
	}
	for _, name := range []string{"slow body of a command", "event streams"} { // here they are let in
		t.Run(name+", no token", func(t *testing.T) {
			t.Parallel()
			probesUnder(t, loads[name])
		})
	}
}

func probesUnder(t *testing.T, l load, change ...func(*web.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		program := newProgram()
		c, line := serveInBubble(t, program, change...)
		line.put(t, manyClients, "127.0.0.1", l)
		// Six probes take 1.5 s: longer than any load waits before it acts again.
		for i := range 6 {
			path := []string{"/livez", "/readyz", "/healthz"}[i%3]
			start := time.Now()
			if a := c.Get(path); a.Status != http.StatusOK {
				t.Errorf("%s: status %d", path, a.Status)
			}
			if waited := time.Since(start); waited > time.Second {
				t.Errorf("%s answered after %v", path, waited)
			}
			// Nobody is just being disconnected, or counted late.
			synctest.Wait()
			if n := int(line.open.Load()); n > web.AddressConnections+1 { // and the one that waits for its place
				t.Errorf("%d connections are open", n)
			}
		}
	})
}

// TestEventStreamsAreNotEvicted: clients without a token do not disconnect those who have
// it and watch; nor do those who have it and are slow to send a body.
func TestEventStreamsAreNotEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		program := newProgram()
		_, line := serveInBubble(t, program, withToken)
		const authorized = host + "Authorization: Bearer " + token + "\r\n"
		for range 40 {
			line.begin(t, "GET /api/v1/state"+authorized+"Content-Length: 1000\r\n\r\n")
			line.begin(t, "POST /api/v1/step"+authorized+"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
		}
		synctest.Wait()
		var events [web.MaxWatchers]atomic.Int32
		for i := range events {
			conn := line.begin(t, "GET /api/v1/events"+authorized+"\r\n")
			// owner: the bubble; ends with conn.
			go func() {
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "data: ") {
						events[i].Add(1)
					}
				}
				events[i].Store(-1)
			}()
		}
		synctest.Wait()
		for _, name := range []string{"silent", "event streams", "requests again and again"} {
			line.put(t, web.AddressConnections/2, "127.0.0.1", loads[name])
		}
		for i := range events {
			events[i].Store(0)
		}
		time.Sleep(5 * time.Second)
		for i := range events {
			if n := events[i].Load(); n < 9 {
				t.Errorf("%d events within five seconds", n)
			}
		}
	})
}

// TestAddressesAreLimited: clients of one address, and of a few, do not disconnect those of
// others.
func TestAddressesAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, line := serveInBubble(t, newProgram())
		var ours []net.Conn
		for range 10 {
			ours = append(ours, line.begin(t, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: "))
		}
		for _, address := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
			line.put(t, web.MaxConnections/2+50, address, loads["silent"])
			time.Sleep(web.EvictableAfter)
			synctest.Wait() // nobody is just being disconnected, or counted late
			if n := int(line.open.Load()); n > web.MaxConnections+1 {
				t.Errorf("%d connections are open", n)
			}
		}
		if n := int(line.open.Load()); n < web.MaxConnections {
			t.Errorf("%d connections are open", n)
		}
		for _, conn := range ours {
			if _, err := io.WriteString(conn, "x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if text, err := bufio.NewReader(conn).ReadString('\n'); text != "HTTP/1.1 200 OK\r\n" {
				t.Errorf("%q, %v", text, err)
			}
		}
		c.Get("/livez")
	})
}

// TestTimeToAsk: however many connect, each has some time to send its request, and then the
// next ones have its place.
func TestTimeToAsk(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration
		want  string
	}{
		"in time": {web.EvictableAfter - time.Millisecond, "HTTP/1.1 200 OK\r\n"},
		"late":    {2 * web.EvictableAfter, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, line := serveInBubble(t, newProgram())
				line.put(t, manyClients, "127.0.0.1", loads["silent"])
				conn := line.begin(t, "G")
				time.Sleep(tt.after)
				io.WriteString(conn, "ET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
				if text, err := bufio.NewReader(conn).ReadString('\n'); text != tt.want {
					t.Errorf("%q, %v", text, err)
				}
			})
		})
	}
}

// TestPendingRequestsAreBounded: large requests that are not completed take little memory, and
// cost those with small ones nothing.
func TestPendingRequestsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, line := serveInBubble(t, newProgram())
		conn := line.begin(t, "GET /livez"+host+"X: ")
		large := "GET /livez" + host + strings.Repeat("X: x\r\n", 2500)
		most := web.MaxPendingBytes/len(large) + 1
		for range 2 * most {
			line.begin(t, large)
		}
		synctest.Wait()
		if n := int(line.open.Load()); n < most-1 || n > most+1 {
			t.Errorf("%d connections are open, want %d", n, most)
		}
		io.WriteString(conn, "x\r\n\r\n")
		if text, err := bufio.NewReader(conn).ReadString('\n'); text != "HTTP/1.1 200 OK\r\n" {
			t.Errorf("%q, %v", text, err)
		}
		// What is answered counts no longer.
		for range 4 * most {
			lines := bufio.NewReader(line.begin(t, large+"\r\n"))
			if text, err := lines.ReadString('\n'); text != "HTTP/1.1 200 OK\r\n" {
				t.Fatalf("%q, %v", text, err)
			}
			go io.Copy(io.Discard, lines) // owner: the bubble; ends with the connection
			synctest.Wait()
		}
		synctest.Wait()
		if n := int(line.open.Load()); n < 5*most-3 {
			t.Errorf("%d connections are open after requests that were answered", n)
		}
	})
}

// TestEvictionsAreLogged: once a minute, with their number.
func TestEvictionsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logged := observer.New(zap.WarnLevel)
		_, line := serveInBubble(t, newProgram(), func(o *web.Options) { o.Log = zap.New(core) })
		connect := func(connections int) {
			for range connections {
				line.begin(t, "GET /livez HTTP/1.1\r\n")
			}
			synctest.Wait()
			time.Sleep(web.EvictableAfter)
		}
		connect(web.AddressConnections + 10)
		time.Sleep(time.Minute) // the time for headers is over, too
		connect(web.AddressConnections + 1)
		all := logged.FilterMessage("too many web connections: some are closed").All()
		if len(all) != 2 || all[0].ContextMap()["closed"] != int64(1) || all[1].ContextMap()["closed"] != int64(10) {
			t.Errorf("logged %v", all)
		}
	})
}

// TestAddressOf: addresses of IPv6 count by network, and none has two forms.
func TestAddressOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7":            "192.0.2.7",
		"::ffff:192.0.2.7":     "192.0.2.7",
		"127.0.0.1":            "127.0.0.1",
		"::1":                  "::",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::",
		"2001:db8:1:2:ffff::":  "2001:db8:1:2::",
	} {
		if got := web.AddressOf(&pipe{from: &net.TCPAddr{IP: net.ParseIP(address), Zone: ""}}).String(); got != want {
			t.Errorf("%s counts as %s, want %s", address, got, want)
		}
	}
	if got := web.AddressOf(&pipe{from: &net.UnixAddr{}}); got.IsValid() {
		t.Errorf("no address counts as %s", got)
	}
}
