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
)

// leastToken is the minimum length of a token. It must be too long to guess, since attempts are
// not rate-limited.
const leastToken = 16

// cookieName is the name of the cookie that a browser gets in exchange for the token.
const cookieName = "gorosbag"

// guard authorizes requests.
type guard struct {
	token   string
	session string // value of the cookie; only valid for this process
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

// policy isolates a page: it loads nothing from other origins, sends nothing to them, and
// cannot be framed.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// wrap adds the checks to a handler.
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

// same compares in constant time, independent of the length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// only passes authorized requests on.
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

// login exchanges the token for a cookie.
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
