package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"time"
)

//go:embed assets
var embedded embed.FS

// shared are the files that the pages of all programs have in common.
var shared = Files(embedded)

// Files returns the files in the folder assets of a program.
func Files(embedded embed.FS) fs.FS {
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic("web: " + err.Error()) // the name is valid
	}
	return files
}

// contentTypes are the content types of the assets by extension.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".html": "text/html; charset=utf-8",
}

// pages serves the page of the program and its assets. Each file is registered with its own
// path, so that request paths are never used as file paths.
func (s *Server) pages() {
	s.Assets(shared)
	s.Assets(s.backend.Pages())
	content := template.Must(frame("page.html").New("content").Parse(string(mustRead(s.backend.Pages(),
		s.backend.Program()+".html"))))
	page, viewerPage := asset(s.render(content, false, false), ".html"),
		asset(s.render(content, false, true), ".html")
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.guard.admits(r):
			page(w, r)
		case s.guard.shows(r):
			viewerPage(w, r)
		default:
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		}
	})
	s.mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		if s.guard.admits(r) { // who only looks may log in to control
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		s.loginPage(w, http.StatusOK)
	})
	s.mux.HandleFunc("POST /login", s.login)
}

// Assets serves files that pages load, also to clients that are not authorized: the login needs some.
func (s *Server) Assets(files fs.FS) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic("web: " + err.Error()) // they are in the program
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".html" {
			s.mux.HandleFunc("GET /static/"+e.Name(), asset(mustRead(files, e.Name()), path.Ext(e.Name())))
		}
	}
}

// frame returns the template of a page: what all pages have in common, with the parts that the file body
// defines.
func frame(body string) *template.Template {
	return template.Must(template.ParseFS(shared, "frame.html", body))
}

// render returns the page of a template. again says that a token was refused, looks that the page
// controls nothing.
func (s *Server) render(t *template.Template, again, looks bool) []byte {
	var b bytes.Buffer
	err := t.ExecuteTemplate(&b, "frame.html", struct {
		Program, Node string
		Again, Looks  bool
	}{s.backend.Program(), s.options.Node, again, looks})
	if err != nil {
		panic("web: " + err.Error()) // the templates are in the program
	}
	return b.Bytes()
}

// asset serves a file with an extension. Browsers have to revalidate it each time: the next version of
// the program may serve other content at the same address.
func asset(b []byte, extension string) http.HandlerFunc {
	sum := sha256.Sum256(b)
	etag := strconv.Quote(hex.EncodeToString(sum[:8]))
	kind := contentTypes[extension]
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("ETag", etag)
		h.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

func mustRead(files fs.FS, name string) []byte {
	b, err := fs.ReadFile(files, name)
	if err != nil {
		panic("web: " + err.Error()) // it is in the program
	}
	return b
}

// loginPage asks for the token.
func (s *Server) loginPage(w http.ResponseWriter, status int) {
	page := s.render(frame("login.html"), status != http.StatusOK, false)
	w.Header().Set("Content-Type", contentTypes[".html"])
	w.WriteHeader(status)
	w.Write(page) //nolint:errcheck,gosec // whoever has gone does not need it
}

// login exchanges the token for a cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	given := r.PostFormValue("token")
	var session string
	switch g := &s.guard; {
	case g.token != "" && equalSecrets(given, g.token):
		session = g.session
	case g.viewToken != "" && equalSecrets(given, g.viewToken):
		session = g.viewSession
	default:
		s.loginPage(w, http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure would keep it from a server without TLS, which this is
		Name: cookieName, Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
