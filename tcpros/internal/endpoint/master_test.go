package endpoint

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// TestForMaster: a master listens on the addresses of its host on this machine, and on loopback.
func TestForMaster(t *testing.T) {
	addr := netip.MustParseAddr
	lan, lan6, debian, lo6 := addr("192.168.1.5"), addr("fd00::5"), addr("127.0.1.1"), addr("::1")
	for name, tc := range map[string]struct {
		dns    map[string][]netip.Addr
		local  []netip.Addr
		listen string
		ipv6   bool
		want   Serving
	}{
		"a name on the network":  {map[string][]netip.Addr{"robot": {lan, lan6}}, []netip.Addr{lan, lan6}, "", false, Serving{Host: "robot", Listen: []string{"192.168.1.5", "127.0.0.1"}}},
		"the same, version 6":    {map[string][]netip.Addr{"robot": {lan, lan6}}, []netip.Addr{lan, lan6}, "", true, Serving{Host: "robot", Listen: []string{"fd00::5", "::1"}}},
		"a name on loopback":     {map[string][]netip.Addr{"robot": {debian}}, []netip.Addr{lan}, "", false, Serving{Host: "robot", Listen: []string{"127.0.1.1", "127.0.0.1"}, LoopbackDefault: true}},
		"a name of another host": {map[string][]netip.Addr{"robot": {addr("192.0.2.1")}}, []netip.Addr{lan}, "", false, Serving{Host: "192.168.1.5", Listen: []string{"192.168.1.5", "127.0.0.1"}}},
		"no name":                {nil, []netip.Addr{lo6, addr("169.254.1.1"), lan}, "", false, Serving{Host: "192.168.1.5", Listen: []string{"192.168.1.5", "127.0.0.1"}}},
		"no network":             {nil, nil, "", false, Serving{Host: "localhost", Listen: []string{"127.0.0.1"}, LoopbackDefault: true}},
		"listen":                 {nil, []netip.Addr{lan}, "[::1]", true, Serving{Host: "::1", Listen: []string{"::1"}}},
	} {
		l := &Locator{
			getenv:   func(string) string { return "" },
			hostname: func() (string, error) { return "robot", nil },
			local:    func() []netip.Addr { return tc.local },
			lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
				if all := tc.dns[host]; all != nil {
					return all, nil
				}
				return nil, errors.New("no such host")
			},
		}
		if d := cmp.Diff(tc.want, l.ForMaster(t.Context(), tc.listen, names.Args{}, tc.ipv6)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
