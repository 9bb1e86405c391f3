package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
)

// leastToken is the length of a token that is not worth guessing: nothing else slows
// down who tries.
const leastToken = 16

// cookieName is that of the cookie that a browser gets for the token.
const cookieName = "gorosbag"

// guard decides who is let in.
type guard struct {
	token   string
	session string // what the cookie holds: it is worth nothing to another process
	hosts   []string
}

func newGuard(o Options) guard {
	g := guard{token: o.Token, hosts: []string{"localhost"}}
	secret := make([]byte, 32)
	rand.Read(secret) // it never fails
	g.session = hex.EncodeToString(secret)
	if name, err := os.Hostname(); err == nil {
		g.hosts = append(g.hosts, canonical(name))
	}
	for _, name := range o.Hosts {
		g.hosts = append(g.hosts, canonical(name))
	}
	if name, _, err := net.SplitHostPort(o.Listen); err == nil && name != "" {
		g.hosts = append(g.hosts, canonical(name))
	}
	return g
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// policy keeps a page to itself: it loads nothing from elsewhere, sends nothing
// elsewhere, and is in nobody's frame.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// wrap puts the checks in front of a handler.
func (g *guard) wrap(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, &statusError{http.StatusForbidden, "this was asked for by the page of another site"})
	}))
	next = origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !g.called(r.Host) {
			writeError(w, &statusError{http.StatusMisdirectedRequest, "this server is not called so: allow the name with --http-host"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// called reports whether the server may be called by this name. A page of another site
// can make its own name stand for our address, but cannot make an address stand for it.
func (g *guard) called(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.Contains(g.hosts, canonical(host))
}

// admits reports whether the request has the token, in its header or as a cookie.
func (g *guard) admits(r *http.Request) bool {
	if g.token == "" {
		return true
	}
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(given, g.token)
	}
	c, err := r.Cookie(cookieName)
	return err == nil && same(c.Value, g.session)
}

// same compares in a time that tells nothing, not even the length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// only lets those through who are let in.
func (g *guard) only(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !g.admits(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, &statusError{http.StatusUnauthorized, "a token is needed: send it as Authorization: Bearer, or log in"})
			return
		}
		next(w, r)
	}
}

// login gives a browser that has the token a cookie instead.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	if s.guard.token == "" || !same(r.PostFormValue("token"), s.guard.token) {
		s.loginPage(w, http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure would keep it from a server without TLS, which this is
		Name: cookieName, Value: s.guard.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// limited returns a listener with at most so many connections open.
func limited(ln net.Listener, most int) net.Listener {
	return &limitedListener{Listener: ln, places: make(chan struct{}, most), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

// Accept waits for a place before it takes a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close also ends an Accept that waits for a place.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close gives the place back.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
