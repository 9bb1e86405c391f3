package tcpros

import (
	"fmt"
	"testing"
	"time"
)

// TestServicesRegisterLast: a message that is published before a subscription is
// registered is lost, a call of a service is not.
func TestServicesRegisterLast(t *testing.T) {
	t.Parallel()
	r := &registrar{entries: map[regKey]*regEntry{}, wake: make(chan struct{}, 1)}
	for i := range 5 {
		for _, kind := range []regKind{regService, regSubscriber, regPublisher} {
			r.want(regKey{kind, fmt.Sprint("/x", i)}, "", nil)
		}
	}
	for i := range 15 {
		e, _ := r.pick(time.Now())
		if service := e.key.kind == regService; service != (i >= 10) {
			t.Errorf("call %d registers a %s", i, e.key.kind)
		}
		e.registered = true
	}
}
