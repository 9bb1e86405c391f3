package tcpros

import (
	"cmp"
	"time"
)

// Timing is what tests of the exported API may change in a node's timing. Zero leaves
// an interval as it is.
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
		{&d.registrar.UpdateEvery, t.Hint},
		{&d.unregisterTimeout, t.Unregister},
		{&d.retry.first, t.RetryFirst},
		{&d.lingerCheck, t.LingerCheck},
		{&d.udpIdle, t.UDPQuiet},
		{&d.resolve, t.Resolve},
		{&d.drainTimeout, t.Drain},
		{&d.serviceGrace, t.ServiceGrace},
		{&d.hangReport, t.Hang},
	} {
		*c.to = cmp.Or(c.set, *c.to)
	}
	d.retry.most = max(d.retry.most, d.retry.first)
	o.timing = &d
	return o
}
