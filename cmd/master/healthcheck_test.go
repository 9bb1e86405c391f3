//go:build unix

package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/internal/program"
)

// TestHealthcheck is not parallel: running ends by a signal to this process.
func TestHealthcheck(t *testing.T) {
	uri, ended := running(t)
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	check := func(port string, more ...string) error {
		return run(append([]string{"healthcheck", "-p", port}, more...), env(), io.Discard, &program.Errors{W: io.Discard})
	}
	for _, listen := range [][]string{nil, {"--listen", "0.0.0.0"}, {"--listen", "127.0.0.1"}} {
		if err := check(u.Port(), listen...); err != nil {
			t.Errorf("a master that serves, %v: %v", listen, err)
		}
	}
	if err := run([]string{"healthcheck"}, env("ROS_MASTER_URI", uri), io.Discard, &program.Errors{W: io.Discard}); err != nil {
		t.Errorf("by ROS_MASTER_URI: %v", err)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, ended)
	if err := check(u.Port()); err == nil || err.Error() != "no ROS master answers at 127.0.0.1:"+u.Port()+": connection refused" {
		t.Errorf("no master: %v", err)
	}

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Listener.Addr().String())
	if err := check(port); err == nil {
		t.Error("a web server passes as a master")
	}
}
