// Package master is a ROS 1 master and parameter server in one value.
package master

import (
	"context"
	"errors"
	"net"

	"go.uber.org/zap"
)

// Options configures a Master. The zero value serves this machine on port 11311.
type Options struct {
	// Listen is the host:port to serve on; port 0 means any free port, an empty
	// host all interfaces. Empty means 127.0.0.1:11311.
	Listen string
	// AlsoListen are further hosts to serve on, with the same port.
	AlsoListen []string
	// URIHost is the host in URI; empty means the host of Listen.
	URIHost string
	// Log gets one line per event; nil logs nothing.
	Log *zap.Logger
}

// Master is a running master.
type Master struct {
	uri string
	ln  net.Listener
}

// New starts a master, which serves until Close. ctx bounds only the start.
func New(_ context.Context, _ Options) (*Master, error) {
	return nil, errors.New("master: not built yet")
}

// URI returns the address that nodes put in ROS_MASTER_URI.
func (m *Master) URI() string { return m.uri }

// Addr returns the address of the first listener.
func (m *Master) Addr() net.Addr { return m.ln.Addr() }

// Close stops the master. When it returns, nothing that New started is alive.
func (m *Master) Close() error { return nil }
