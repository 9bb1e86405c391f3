package tcpros

import (
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/registrar"
	"github.com/gorosbag/gorosbag/tcpros/internal/service"
	"github.com/gorosbag/gorosbag/tcpros/internal/sublink"
)

// timing holds the intervals and timeouts of a node: how soon it detects a change, retries or
// gives up. Every node uses defaultTiming; only tests set shorter ones.
type timing struct {
	registrar         registrar.Timing
	hangReport        time.Duration // after which a call of the master that is not answered is logged
	unregisterTimeout time.Duration // for an answer of the master during Close

	links   sublink.Timing
	resolve time.Duration // for resolving a host name

	drainTimeout time.Duration // for a subscriber without progress
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
