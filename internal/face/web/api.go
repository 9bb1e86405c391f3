package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// Handle serves a pattern with a method to authorized clients, whose connections are then held.
func (s *Server) Handle(pattern string, h http.HandlerFunc) {
	s.route(pattern, s.guard.requireToken(s.conns.holding(authorized, h)))
}

// route serves a pattern with a method. The answer to other methods says how to ask: mostly
// somebody has typed an address into a browser, or has forgotten an option of curl.
func (s *Server) route(pattern string, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, h)
	method, path, _ := strings.Cut(pattern, " ")
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		options := ""
		if method != http.MethodGet {
			options = "-X " + method + " "
		}
		w.Header().Set("Allow", method)
		WriteError(w, &statusError{
			http.StatusMethodNotAllowed,
			"only " + method + " is served here, as by: " + s.curl(r, options, path),
		})
	})
}

// plainHost is a host that is also plain in a shell, where somebody pastes the line.
var plainHost = lazyre.New(`^[a-zA-Z0-9.:\[\]-]+$`)

// curl returns the command line that requests a path of this server as the client sees it.
func (s *Server) curl(r *http.Request, options, path string) string {
	host := r.Host
	if !plainHost().MatchString(host) {
		host = LocalAddress(s.addr.String())
	}
	if s.guard.token != "" {
		options += "-H 'Authorization: Bearer TOKEN' "
	}
	return "curl " + options + "http://" + host + path
}

// Commands serves the commands that can be reached over HTTP.
func (s *Server) Commands(all []command.Command) {
	for i := range all {
		if all[i].HTTP != "" {
			s.command(&all[i])
		}
	}
}

// command serves a command. A command that has nothing to do is no error: the answer has status 200,
// the reason as its message, and the fields of the result.
func (s *Server) command(c *command.Command) {
	s.Handle("POST /api/v1/"+c.HTTP, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), command.Patience)
		defer cancel()
		result, err := s.perform(ctx, w, r, c)
		s.poller.wake()
		status, answer := http.StatusOK,
			any(resultAnswer{message: cmp.Or(result.Brief, result.Text), fields: result.Fields})
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			status, answer = http.StatusAccepted,
				resultAnswer{message: "it is being done, after what waits for the disk"}
		case command.KindOf(err) == command.NoChange:
			answer = resultAnswer{message: err.Error(), fields: result.Fields}
		case err != nil:
			status = statusOf(err)
			answer = errorAnswer{err.Error()}
		}
		s.options.Log.Info("web command", loglimit.OnRequest(), zap.String("command", c.HTTP),
			zap.String("peer", r.RemoteAddr), zap.Int("status", status), zap.Error(err))
		WriteJSON(w, status, answer)
	})
}

// perform carries out a command with the parameters of the body.
func (s *Server) perform(ctx context.Context, w http.ResponseWriter, r *http.Request,
	c *command.Command,
) (command.Result, error) {
	if r.ContentLength != 0 { // forms of other pages cannot send this type
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
			kind != "application/json" {
			_, path, _ := strings.Cut(r.Pattern, " ")
			how := s.curl(r, "-H 'Content-Type: application/json' -d '...' ", path)
			return command.Result{},
				&statusError{
					http.StatusUnsupportedMediaType,
					"the body must be application/json, as of: " + how,
				}
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return command.Result{}, badBody(err)
	}
	s.conns.hold(r, authorized)
	given, err := decode(c.Params, body)
	if err != nil {
		return command.Result{}, err
	}
	return c.Run(ctx, given)
}

// HandleDownload is Handle for requests that read a bag: at most maxDownloads are served at once.
func (s *Server) HandleDownload(pattern string, h http.HandlerFunc) {
	s.Handle(pattern, func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.files <- struct{}{}:
			defer func() { <-s.files }()
		default:
			w.Header().Set("Retry-After", "5")
			WriteError(w, command.Refused(command.Unavailable,
				"too many bags are read at once: try again later"))
			return
		}
		h(w, r)
	})
}

// ServeContent sends a file, or the requested range of it, however long that takes, to a client
// that keeps reading.
func ServeContent(w http.ResponseWriter, r *http.Request, modified time.Time, file io.ReadSeeker) {
	http.ServeContent(stream.New(w), r, "", modified, file)
}
