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

// cookieName is the name of the cookie that a browser gets in exchange for the token.
const cookieName = "gorosbag"

// guard authorizes requests.
type guard struct {
	token   string
	session string // value of the cookie; only valid for this process
	// The same for clients that only look.
	viewToken, viewSession string
	hosts                  []string
	origins                []string
}

func newGuard(o Options) guard {
	g := guard{
		token: o.Token, session: secret(), viewToken: o.ViewToken, viewSession: secret(),
		hosts: []string{"localhost"},
	}
	if name, err := os.Hostname(); err == nil {
		g.hosts = append(g.hosts, canonical(name))
	}
	for _, name := range o.Hosts {
		g.hosts = append(g.hosts, canonical(name))
	}
	for _, origin := range o.Origins {
		g.origins = append(g.origins, strings.ToLower(origin))
	}
	if name, _, err := net.SplitHostPort(o.Listen); err == nil && name != "" {
		g.hosts = append(g.hosts, canonical(name))
	}
	return g
}

// secret returns a text that nobody can guess.
func secret() string {
	b := make([]byte, 32)
	rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// policy isolates a page: it loads nothing from other origins, sends nothing to them, and
// cannot be framed.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// wrap adds the checks to a handler.
func (g *guard) wrap(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, &statusError{http.StatusForbidden, "cross-origin request refused"})
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
		if !g.allowsHost(r.Host) {
			// ADR 0044: DNS rebinding makes a page of another site ask us under its own name.
			WriteError(w, &statusError{
				http.StatusMisdirectedRequest,
				"unknown host name: allow it with --http-host",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowsHost reports whether the host of a request is allowed. This prevents DNS rebinding: a
// page of another site can let its own name resolve to our address, but it cannot use an IP
// address as its name.
func (g *guard) allowsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.Contains(g.hosts, canonical(host))
}

// admits reports whether the request is authorized to look and to control, by the token or the session
// cookie.
func (g *guard) admits(r *http.Request) bool {
	return g.token == "" || hasSecret(r, g.token, g.session)
}

// shows reports whether the request is authorized to look, with or without control.
func (g *guard) shows(r *http.Request) bool {
	return g.admits(r) || g.viewToken != "" && hasSecret(r, g.viewToken, g.viewSession)
}

// refuseToken is the error for a request without authorization: sent is whether its address has a token.
// Old cookies are none.
func refuseToken(r *http.Request, sent bool, how string) error {
	if sent || strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return &statusError{
			http.StatusUnauthorized,
			"the token is wrong: want that of --http-token, of its file or of its variable",
		}
	}
	return &statusError{http.StatusUnauthorized, "a token is needed: " + how}
}

// hasSecret reports whether a request comes with a token or, from a browser, with the session that stands
// for it.
func hasSecret(r *http.Request, token, session string) bool {
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return equalSecrets(given, token)
	}
	c, err := r.Cookie(cookieName)
	return err == nil && equalSecrets(c.Value, session)
}

// equalSecrets compares in constant time, whatever the lengths.
func equalSecrets(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// requireToken refuses unauthorized requests.
func (g *guard) requireToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch looks := r.Method == http.MethodGet || r.Method == http.MethodHead; {
		case !g.shows(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			WriteError(w, refuseToken(r, false, "send it as Authorization: Bearer, or log in"))
			return
		case !looks && !g.admits(r):
			WriteError(w, &statusError{
				http.StatusForbidden,
				"this token only shows: to control, log in with the other one",
			})
			return
		}
		next(w, r)
	}
}
