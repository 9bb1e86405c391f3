package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"time"
)

//go:embed assets
var assets embed.FS

// contentTypes are the content types of the assets by extension.
var contentTypes = map[string]string{ //nolint:gochecknoglobals // a constant, but for the language
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8",
}

// pages serves the page of the program and its assets. Each file is registered with its own
// path, so that request paths are never used as file paths.
func (s *Server) pages() {
	entries, err := assets.ReadDir("assets")
	if err != nil {
		panic("web: " + err.Error()) // it is in the program
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".html" {
			s.mux.HandleFunc("GET /static/"+e.Name(), asset(e.Name())) // also for the login
		}
	}
	page := asset(s.backend.program() + ".html")
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !s.guard.admits(r) {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		page(w, r)
	})
	s.mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		if s.guard.admits(r) {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		s.loginPage(w, http.StatusOK)
	})
	s.mux.HandleFunc("POST /login", s.login)
}

// asset serves an embedded file. Browsers have to revalidate it each time: the next version of
// the program may serve other content at the same address.
func asset(name string) http.HandlerFunc {
	b := mustRead(name)
	sum := sha256.Sum256(b)
	etag := strconv.Quote(hex.EncodeToString(sum[:8]))
	kind := contentTypes[path.Ext(name)]
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("ETag", etag)
		h.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

func mustRead(name string) []byte {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("web: " + err.Error()) // it is in the program
	}
	return b
}

// loginPage asks for the token.
func (s *Server) loginPage(w http.ResponseWriter, status int) {
	t := template.Must(template.New("login").Parse(string(mustRead("login.html"))))
	w.Header().Set("Content-Type", contentTypes[".html"])
	w.WriteHeader(status)
	t.Execute(w, struct { //nolint:errcheck,gosec // whoever has gone does not need it
		Program, Node string
		Again         bool
	}{s.backend.program(), s.Node, status != http.StatusOK})
}
