package integration_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// versitygw is the S3 server of the tests; `make tools` builds it.
const versitygw = "../../bin/tools/versitygw-v1.8.0"

const (
	s3User     = "robot"
	s3Password = "a secret of tests"
)

// s3Server is a real S3 server with one bucket, behind a proxy that counts and can act
// between a request and its answer.
type s3Server struct {
	t       *testing.T
	program string
	dir     string // of the bucket: each object is a file in it
	port    string
	url     string // of the proxy

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	stored map[string]map[string]int64 // bytes of acknowledged PUTs by key, and by part
	again  []string                    // parts and objects that were acknowledged before
	parts  int                         // part uploads until now, acknowledged or not
	onPart func(n int)                 // told of each before it reaches the server
	got    int64                       // bytes of objects sent to readers
	frozen bool
	broken bool // every answer breaks off
	asking int  // requests that a frozen or broken server leaves without an answer
}

// newS3 starts a server, or skips the test where there is none.
func newS3(t *testing.T) *s3Server {
	t.Helper()
	program, err := filepath.Abs(versitygw)
	if err != nil {
		t.Fatal(err)
	}
	need(t, program, "--version")
	s := &s3Server{t: t, program: program, dir: filepath.Join(t.TempDir(), "bags"), port: freePort(t), stored: map[string]map[string]int64{}}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(s.kill)
	proxy := s.proxy()
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
	return s
}

// start starts the server and waits until it answers.
func (s *s3Server) start() {
	s.t.Helper()
	cmd := exec.Command(s.program, "--port", "127.0.0.1:"+s.port, "--access", s3User, "--secret", s3Password, "--quiet", "posix", filepath.Dir(s.dir))
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		cmd.Wait()
	}()
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	eventually(s.t, "the S3 server listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// kill ends the server without a chance to finish anything.
func (s *s3Server) kill() {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	cmd.Process.Kill()
	<-exited
}

// at returns the URL of what is in the bucket by a name.
func (s *s3Server) at(name string) string {
	return "s3://bags/" + name + "?endpoint=" + s.url
}

// environment is what the programs need to be let in.
func (s *s3Server) environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + s3User, "AWS_SECRET_ACCESS_KEY=" + s3Password}
}

// proxy passes requests on and counts.
func (s *s3Server) proxy() http.Handler {
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + s.port}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
			s.before(r.In)
		},
		ModifyResponse: func(r *http.Response) error {
			s.answered(r)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

func (s *s3Server) before(r *http.Request) {
	s.mu.Lock()
	frozen := s.frozen
	if frozen {
		s.asking++
	}
	s.mu.Unlock()
	if frozen {
		<-r.Context().Done()
	}
	if r.Method != http.MethodPut || !r.URL.Query().Has("partNumber") {
		return
	}
	s.mu.Lock()
	s.parts++
	n, act := s.parts, s.onPart
	s.mu.Unlock()
	if act != nil {
		act(n)
	}
}

func (s *s3Server) answered(r *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Request.Method == http.MethodGet && s.broken:
		r.Body = http.NoBody // before its length: the connection breaks off
		s.asking++
	case r.Request.Method == http.MethodGet && r.StatusCode < 300:
		r.Body = &countedBody{r.Body, s}
	case r.Request.Method == http.MethodPut && r.StatusCode < 300:
		key, part := strings.TrimPrefix(r.Request.URL.Path, "/bags/"), r.Request.URL.Query().Get("partNumber")
		if s.stored[key] == nil {
			s.stored[key] = map[string]int64{}
		}
		if _, twice := s.stored[key][part]; twice {
			s.again = append(s.again, key+" "+part)
		}
		s.stored[key][part] = r.Request.ContentLength
	}
}

// countedBody counts what is read of an object.
type countedBody struct {
	io.ReadCloser
	s *s3Server
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.s.mu.Lock()
	b.s.got += int64(n)
	b.s.mu.Unlock()
	return n, err
}

// freeze makes the server answer nothing more.
func (s *s3Server) freeze() {
	s.mu.Lock()
	s.frozen = true
	s.mu.Unlock()
}

// drop makes every answer break off, or no more.
func (s *s3Server) drop(broken bool) {
	s.mu.Lock()
	s.broken = broken
	s.mu.Unlock()
}

// waiting reports whether somebody asks a frozen or broken server.
func (s *s3Server) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking > 0
}

// sent returns how many bytes of objects went to readers until now.
func (s *s3Server) sent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}
