// Package s3 starts S3 servers for tests: a real one behind a proxy that counts requests and injects
// faults.
package s3

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// versitygw is the S3 server of the tests; `make tools` builds it.
const versitygw = "../../../bin/tools/versitygw"

// The credentials of the S3 server.
const (
	User     = "robot"
	Password = "a secret of tests"
)

// Server is a real S3 server with one bucket, behind a proxy that counts requests and injects
// faults.
type Server struct {
	t       *testing.T
	program string
	Dir     string // of the bucket: each object is a file in it
	port    string
	url     string   // of the proxy
	args    []string // of the server, for TLS
	within  []string // the command that starts the server

	Mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	Stored map[string]map[string]int64 // bytes of PUTs that the server has stored, by key, and by part
	Again  []string                    // parts and objects that were uploaded twice
	parts  int                         // part uploads so far, stored or not
	OnPart func(n int)                 // called for each before it reaches the server
	got    int64                       // bytes of objects sent to readers
	frozen bool
	delay  time.Duration
	broken bool // every response is truncated
	asking int  // requests without a complete response
	refuse int  // one of so many requests is refused; 0: none
	asked  int  // requests so far
	link   *rate.Limiter
	open   map[string]int // requests under way, by object
	most   int            // objects that were asked for at the same time
}

// New starts a server, or skips the test if it is not installed.
func New(t *testing.T) *Server {
	t.Helper()
	s := newServer(t)
	s.Start()
	t.Cleanup(s.Kill)
	s.listen(s.withRefusals(s.proxy()))
	return s
}

// NewTLS starts a server that speaks TLS, without the proxy, and returns the file with the
// certificate of its CA.
func NewTLS(t *testing.T) (s *Server, ca string) {
	t.Helper()
	s = newServer(t)
	dir := t.TempDir()
	ca = filepath.Join(dir, "ca.pem")
	cert, key := filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	makeCertificates(t, ca, cert, key)
	s.args = []string{"--cert", cert, "--key", key}
	s.url = "https://127.0.0.1:" + s.port
	s.Start()
	t.Cleanup(s.Kill)
	return s, ca
}

// NewSmall starts a server on a file system of so many MiB, which is not visible in Dir, or skips
// the test where that cannot be mounted.
func NewSmall(t *testing.T, mib int) *Server {
	t.Helper()
	own := []string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c"}
	harness.Need(t, "unshare", append(own, "mount -t tmpfs tmpfs /mnt")...)
	s := newServer(t)
	script := fmt.Sprintf(`mount -t tmpfs -o size=%dm tmpfs "$0" && mkdir "$0/bags" && exec "$@"`, mib)
	s.within = slices.Concat([]string{"unshare"}, own, []string{script, filepath.Dir(s.Dir)})
	s.Start()
	t.Cleanup(s.Kill)
	s.listen(s.withRefusals(s.proxy()))
	return s
}

func newServer(t *testing.T) *Server {
	t.Helper()
	program, err := filepath.Abs(versitygw)
	if err != nil {
		t.Fatal(err)
	}
	harness.Need(t, program, "--version")
	s := &Server{
		t: t, program: program, Dir: filepath.Join(t.TempDir(), "bags"), port: harness.FreePort(t), Stored: map[string]map[string]int64{},
		link: rate.NewLimiter(rate.Inf, 1<<20), open: map[string]int{},
	}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// listen starts the proxy.
func (s *Server) listen(proxy http.Handler) {
	t := s.t
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: proxy}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	s.url = "http://" + l.Addr().String()
}

// Start starts the server and waits until it responds.
func (s *Server) Start() {
	s.t.Helper()
	command := slices.Concat(s.within, []string{s.program, "--port", "127.0.0.1:" + s.port, "--access", User, "--secret", Password, "--quiet"},
		s.args, []string{"posix", filepath.Dir(s.Dir)})
	cmd := exec.Command(command[0], command[1:]...)
	if err := testkit.Start(cmd); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		cmd.Wait()
	}()
	s.Mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.Mu.Unlock()
	harness.Eventually(s.t, "the S3 server listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// Kill kills the server with SIGKILL.
func (s *Server) Kill() {
	s.Mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.Mu.Unlock()
	cmd.Process.Kill()
	<-exited
}

// At returns the URL of an object in the bucket.
func (s *Server) At(name string) string {
	return "s3://bags/" + name + "?endpoint=" + s.url
}

// Environment returns the variables with the credentials.
func (s *Server) Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + User, "AWS_SECRET_ACCESS_KEY=" + Password}
}

// withRefusals refuses one request of n, after RefuseOneOf(n).
func (s *Server) withRefusals(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Mu.Lock()
		s.asked++
		refused := s.refuse > 0 && s.asked%s.refuse == 0
		s.Mu.Unlock()
		if refused {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.begin(r.URL.Path)
		defer s.end(r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

func (s *Server) begin(path string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.open[path]++
	s.most = max(s.most, len(s.open))
}

func (s *Server) end(path string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.open[path]--; s.open[path] == 0 {
		delete(s.open, path)
	}
}

// AtOnce returns how many objects were asked for at the same time, at most.
func (s *Server) AtOnce() int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.most
}

// Slow makes the server wait before each response, and limits the bytes per second of all
// responses together.
func (s *Server) Slow(delay time.Duration, bytesPerSecond int) {
	s.Delay(delay)
	s.link.SetLimit(rate.Limit(bytesPerSecond))
}

// RefuseOneOf makes the server refuse one request of n from now on.
func (s *Server) RefuseOneOf(n int) {
	s.Mu.Lock()
	s.refuse = n
	s.Mu.Unlock()
}

// proxy passes requests on and counts.
func (s *Server) proxy() http.Handler {
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + s.port}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host             // it is signed
			if r.In.Method == http.MethodPut { // what the server has stored counts, also when the client was killed meanwhile
				r.Out = r.Out.WithContext(context.WithoutCancel(r.Out.Context()))
			}
			s.beforeRequest(r.In)
		},
		ModifyResponse: func(r *http.Response) error {
			s.afterResponse(r)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

func (s *Server) beforeRequest(r *http.Request) {
	s.Mu.Lock()
	frozen, delay := s.frozen, s.delay
	if frozen {
		s.asking++
	}
	s.Mu.Unlock()
	if frozen {
		<-r.Context().Done()
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
		}
	}
	if r.Method != http.MethodPut || !r.URL.Query().Has("partNumber") {
		return
	}
	s.Mu.Lock()
	s.parts++
	n, act := s.parts, s.OnPart
	s.Mu.Unlock()
	if act != nil {
		act(n)
	}
}

func (s *Server) afterResponse(r *http.Response) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	switch {
	case r.Request.Method == http.MethodGet && s.broken:
		r.Body = http.NoBody // before its length: the connection breaks off
		s.asking++
	case r.Request.Method == http.MethodGet && r.StatusCode < 300:
		r.Body = &countedBody{r.Body, s}
	case strings.HasSuffix(r.Request.URL.Path, "/.gorosbag-check"): // no upload
	case r.Request.Method == http.MethodPut && r.StatusCode < 300:
		key, part := strings.TrimPrefix(r.Request.URL.Path, "/bags/"), r.Request.URL.Query().Get("partNumber")
		if s.Stored[key] == nil {
			s.Stored[key] = map[string]int64{}
		}
		if _, twice := s.Stored[key][part]; twice {
			s.Again = append(s.Again, key+" "+part)
		}
		s.Stored[key][part] = r.Request.ContentLength
	}
}

// countedBody counts what is read of an object.
type countedBody struct {
	io.ReadCloser
	s *Server
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.s.link.Burst())])
	_ = b.s.link.WaitN(context.Background(), n) // n fits
	b.s.Mu.Lock()
	b.s.got += int64(n)
	b.s.Mu.Unlock()
	return n, err
}

// Freeze makes the server hang: no request gets a response.
func (s *Server) Freeze() {
	s.Mu.Lock()
	s.frozen = true
	s.Mu.Unlock()
}

// Delay makes the server wait before each response.
func (s *Server) Delay(d time.Duration) {
	s.Mu.Lock()
	s.delay = d
	s.Mu.Unlock()
}

// Drop makes the server truncate all responses, or stop doing so.
func (s *Server) Drop(broken bool) {
	s.Mu.Lock()
	s.broken = broken
	s.Mu.Unlock()
}

// Waiting reports whether a request came while the server was frozen or broken.
func (s *Server) Waiting() bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.asking > 0
}

// Requests returns the number of requests so far.
func (s *Server) Requests() int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.asked
}

// Sent returns the number of bytes of objects sent to readers so far.
func (s *Server) Sent() int64 {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.got
}
