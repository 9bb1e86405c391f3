package web

import (
	"context"
	"time"
)

// Limits of requests; those of connections are in listener.go.
const (
	maxHeaderBytes  = 16 << 10
	maxBodyBytes    = 16 << 10
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 15 * time.Second
	idleTimeout     = 30 * time.Second
	shutdownTimeout = time.Second // for running requests at the end
)

// maxWatchers is the number of clients that are sent events.
const maxWatchers = 16

// maxDownloads is the number of requests that read a bag concurrently: recording needs the disk, too.
const maxDownloads = 4

// minTokenBytes is the minimum length of a token, which must be too long to guess, since attempts are
// not rate-limited.
const minTokenBytes = 16

// rest waits for a while, or until ctx ends or one of the channels is readable or closed.
func rest(ctx context.Context, pause time.Duration, first, second <-chan struct{}) {
	select {
	case <-time.After(pause):
	case <-first:
	case <-second:
	case <-ctx.Done():
	}
}
