package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestPanicsAreTold: a request that makes us panic is an error of ours in the log; what
// peers do wrong is not.
func TestPanicsAreTold(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zap.InfoLevel)
	log := zap.NewStdLog(zap.NewNop())
	log.SetOutput(complaints{zap.New(core)})
	log.SetFlags(0)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("ours") }))
	s.Config.ErrorLog = log
	s.Start()
	defer s.Close()
	log.Print("http: TLS handshake error")
	if r, err := s.Client().Get(s.URL); err == nil {
		r.Body.Close()
		t.Errorf("answered with %d", r.StatusCode)
	}
	if all := logged.All(); len(all) != 1 || all[0].Level != zap.ErrorLevel {
		t.Errorf("logged %v", all)
	}
}
