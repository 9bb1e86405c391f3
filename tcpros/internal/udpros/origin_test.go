package udpros

import (
	"net/netip"
	"testing"
)

// TestOrigin: the socket in the publisher's reply is the publisher's, whoever has sent before. Otherwise it is the
// first one, and a stray datagram before it does not keep the publisher out for long.
func TestOrigin(t *testing.T) {
	t.Parallel()
	const replied, publisher, other, third, far = "10.0.0.7:40", "10.0.0.7:41", "10.0.0.7:42", "10.0.0.7:43", "10.0.0.8:40"
	type step struct {
		from  string
		times int
		want  bool // all are admitted
		whole bool // and each of them is a message
	}
	for name, steps := range map[string][]step{
		"the socket in the reply":        {{replied, 9, true, true}, {other, 200, false, true}, {replied, 1, true, true}},
		"it comes second":                {{other, 1, true, true}, {replied, 9, true, true}, {other, 1, false, true}},
		"it comes after many of another": {{other, 100, true, true}, {replied, 1, true, true}, {other, 200, false, true}, {replied, 1, true, true}},
		"an ephemeral port":              {{publisher, 9, true, true}, {other, 63, false, true}, {publisher, 9, true, true}},
		"after a stray datagram":         {{other, 1, true, true}, {publisher, 2, false, true}, {publisher, 9, true, true}, {other, 1, false, true}},
		"after a few stray datagrams":    {{other, 2, true, true}, {publisher, 2, false, true}, {publisher, 9, true, true}, {other, 63, false, true}},
		"after parts of a message":       {{other, 9, true, false}, {publisher, 2, false, true}, {publisher, 9, true, true}},
		"others between the first":       {{publisher, 1, true, true}, {other, 2, false, true}, {publisher, 1, true, true}, {other, 2, false, true}, {publisher, 9, true, true}},
		"one that is silent makes way":   {{publisher, 3, true, true}, {other, 63, false, true}, {other, 9, true, true}, {publisher, 1, false, true}},
		"an address that is not allowed": {{far, 9, false, true}, {publisher, 1, true, true}, {far, 200, false, true}, {publisher, 1, true, true}},
		"one that is not silent stays":   {{publisher, 3, true, true}, {other, 30, false, true}, {third, 30, false, true}, {publisher, 1, true, true}, {other, 63, false, true}},
	} {
		o := Origin{Allowed: []netip.Addr{netip.MustParseAddr("10.0.0.7")}, Port: 40}
		for i, s := range steps {
			for n := range s.times {
				before := o.from
				ok, moved := o.Admits(netip.MustParseAddrPort(s.from))
				if ok != s.want || moved != (before.IsValid() && before != o.from) {
					t.Fatalf("%s: datagram %d of step %d from %s: admitted %v, moved %v", name, n, i, s.from, ok, moved)
				}
				if ok && s.whole {
					o.Whole++
				}
			}
		}
	}
}
