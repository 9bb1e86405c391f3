package tcpros

import (
	"cmp"
	"time"
)

// Timing has the intervals of a node that tests of the exported API may change. Zero leaves an
// interval unchanged.
type Timing struct {
	Identify, Reconcile, Hint, Unregister time.Duration
	RetryFirst, LingerCheck, UDPQuiet     time.Duration
	Resolve, Drain, ServiceGrace, Hang    time.Duration
}

// With returns options for a node with another timing.
func (o NodeOptions) With(t Timing) NodeOptions {
	d := defaultTiming()
	for _, c := range []struct {
		to  *time.Duration
		set time.Duration
	}{
		{&d.registrar.IdentifyEvery, t.Identify},
		{&d.registrar.ReconcileEvery, t.Reconcile},
		{&d.registrar.ReconcileMost, t.Reconcile}, // a busy machine must not make a test wait for a minute
		{&d.registrar.UpdateEvery, t.Hint},
		{&d.unregisterTimeout, t.Unregister},
		{&d.links.Retry.First, t.RetryFirst},
		{&d.links.LingerCheck, t.LingerCheck},
		{&d.links.UDPIdle, t.UDPQuiet},
		{&d.resolve, t.Resolve},
		{&d.drainTimeout, t.Drain},
		{&d.services.Grace, t.ServiceGrace},
		{&d.hangReport, t.Hang},
	} {
		*c.to = cmp.Or(c.set, *c.to)
	}
	d.links.Retry.Most = max(d.links.Retry.Most, d.links.Retry.First)
	o.timing = &d
	return o
}
