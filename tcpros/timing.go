package tcpros

import (
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/registrar"
	"github.com/gorosbag/gorosbag/tcpros/internal/service"
	"github.com/gorosbag/gorosbag/tcpros/internal/sublink"
)

// timing has the intervals and timeouts of a node: how soon it detects a change, retries or gives
// up. Every node uses defaultTiming; only tests set shorter ones.
type timing struct {
	registrar         registrar.Timing
	hangReport        time.Duration // time after which a call of the master without a reply is logged
	unregisterTimeout time.Duration // most time for an answer of the master during Close

	links   sublink.Timing
	resolve time.Duration // most time for resolving a host name

	drainTimeout time.Duration // most time that Drain waits for a subscriber without progress
	services     service.Timing
}

func defaultTiming() timing {
	return timing{
		registrar:         registrar.DefaultTiming(),
		hangReport:        3 * time.Second,
		unregisterTimeout: time.Second,

		links:   sublink.DefaultTiming(),
		resolve: 3 * time.Second,

		drainTimeout: 5 * time.Second,
		services:     service.DefaultTiming(),
	}
}
