package loglimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// TestHTTPErrors: a panic in a handler is logged as an error, an error of a peer at the given
// level.
func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zap.InfoLevel)
	log := loglimit.HTTPErrors(zap.New(core), "web server", zap.DebugLevel)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("ours") }))
	s.Config.ErrorLog = log
	s.Start()
	defer s.Close()
	log.Print("http: TLS handshake error")
	if r, err := s.Client().Get(s.URL); err == nil {
		r.Body.Close()
		t.Errorf("answered with %d", r.StatusCode)
	}
	if all := logged.All(); len(all) != 1 || all[0].Level != zap.ErrorLevel || all[0].Message != "web server" {
		t.Errorf("logged %v", all)
	}
}
