package tcpros

import (
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/registrar"
)

// timing holds the intervals and timeouts of a node: how soon it detects a change, retries or
// gives up. Every node uses defaultTiming; only tests set shorter ones.
type timing struct {
	registrar         registrar.Timing
	hangReport        time.Duration // after which a call of the master that is not answered is logged
	unregisterTimeout time.Duration // for an answer of the master during Close

	retry       retryTiming
	lingerCheck time.Duration // between checks of links that the master no longer lists
	udpIdle     time.Duration // after which an idle UDPROS publisher is asked for its links
	resolve     time.Duration // for resolving a host name

	drainTimeout time.Duration // for a subscriber without progress
	serviceGrace time.Duration // for running calls when a service is closed, and again after their context is canceled
}

// retryTiming holds the waits between attempts to reach a publisher.
type retryTiming struct {
	first   time.Duration
	most    time.Duration
	silent  time.Duration // maximum while not even the publisher's machine answers
	healthy time.Duration // after a link that was up this long, the next wait is first
}

func defaultTiming() timing {
	return timing{
		registrar:         registrar.DefaultTiming(),
		hangReport:        3 * time.Second,
		unregisterTimeout: time.Second,

		retry: retryTiming{
			first:   100 * time.Millisecond,
			most:    20 * time.Second,
			silent:  time.Second,
			healthy: 10 * time.Second,
		},
		lingerCheck: time.Second,
		udpIdle:     5 * time.Second,
		resolve:     3 * time.Second,

		drainTimeout: 5 * time.Second,
		serviceGrace: time.Second,
	}
}
