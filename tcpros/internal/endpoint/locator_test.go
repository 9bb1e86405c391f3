package endpoint

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

func TestMasterURI(t *testing.T) {
	env := func(s string) func(string) string { return func(string) string { return s } }
	tests := []struct {
		explicit string
		a        names.Args
		env      string
		uri, hp  string
		mustFail bool
	}{
		{"", names.Args{}, "", "http://localhost:11311", "localhost:11311", false},
		{"", names.Args{}, "http://core:11311/", "http://core:11311/", "core:11311", false},
		{"", names.Args{MasterURI: "http://a:1"}, "http://core:11311", "http://a:1", "a:1", false},
		{"http://b:2", names.Args{MasterURI: "http://a:1"}, "", "http://b:2", "b:2", false},
		{"", names.Args{}, "http://[::1]:5", "http://[::1]:5", "[::1]:5", false},
		{"", names.Args{}, "core:11311", "", "", true},
		{"", names.Args{}, "http://core", "", "", true},
		{"", names.Args{}, "https://core:1", "", "", true},
		{"", names.Args{}, "http://:1", "", "", true},
		{"", names.Args{}, "http://co\x00re:1", "", "", true},
	}
	for _, tt := range tests {
		uri, hp, err := MasterURI(tt.explicit, tt.a, env(tt.env))
		if uri != tt.uri || hp != tt.hp || (err != nil) != tt.mustFail {
			t.Errorf("%q, %+v with %q: %q, %q, %v", tt.explicit, tt.a, tt.env, uri, hp, err)
		}
	}
}

func TestPlace(t *testing.T) {
	addr := netip.MustParseAddr
	lan, wlan, debian := addr("192.168.1.5"), addr("10.0.0.5"), addr("127.0.1.1")
	const away, here = "core:11311", "localhost:11311"
	type env = map[string]string
	tests := []struct {
		name   string
		env    env
		ask    string // address to listen on
		a      names.Args
		master string
		dns    map[string][]netip.Addr
		toward netip.Addr
		host   string
		bind   string
	}{
		{"ROS_IP", env{"ROS_IP": "192.168.1.5"}, "", names.Args{}, away, nil, lan, "192.168.1.5", "192.168.1.5"},
		{"ROS_IP on loopback", env{"ROS_IP": "127.0.0.1"}, "", names.Args{}, away, nil, lan, "127.0.0.1", "127.0.0.1"},
		{"ROS_IP elsewhere on loopback", env{"ROS_IP": "127.0.0.7"}, "", names.Args{}, away, nil, lan, "127.0.0.7", "127.0.0.7"},
		{"ROS_IP behind NAT", env{"ROS_IP": "203.0.113.9"}, "", names.Args{}, away, nil, lan, "203.0.113.9", ""},
		{"ROS_IP with a master on loopback", env{"ROS_IP": "192.168.1.5"}, "", names.Args{}, here, nil, lan, "192.168.1.5", "192.168.1.5"},
		{"ROS_HOSTNAME localhost", env{"ROS_HOSTNAME": "localhost"}, "", names.Args{}, away, nil, lan, "localhost", "127.0.0.1"},
		{"ROS_HOSTNAME", env{"ROS_HOSTNAME": "robot"}, "", names.Args{}, away, map[string][]netip.Addr{"robot": {lan}}, lan, "robot", "192.168.1.5"},
		{"ROS_HOSTNAME beats ROS_IP", env{"ROS_HOSTNAME": "robot", "ROS_IP": "10.0.0.5"}, "", names.Args{}, away, map[string][]netip.Addr{"robot": {lan}}, lan, "robot", "192.168.1.5"},
		{"ROS_HOSTNAME of two addresses", env{"ROS_HOSTNAME": "robot"}, "", names.Args{}, away, map[string][]netip.Addr{"robot": {lan, wlan}}, lan, "robot", ""},
		{"ROS_HOSTNAME on loopback here", env{"ROS_HOSTNAME": "robot"}, "", names.Args{}, away, map[string][]netip.Addr{"robot": {debian}}, lan, "robot", ""},
		{"ROS_HOSTNAME and master on loopback", env{"ROS_HOSTNAME": "robot"}, "", names.Args{}, here, map[string][]netip.Addr{"robot": {debian}}, lan, "robot", "127.0.1.1"},
		{"ROS_HOSTNAME not local", env{"ROS_HOSTNAME": "robot"}, "", names.Args{}, away, map[string][]netip.Addr{"robot": {addr("203.0.113.9")}}, lan, "robot", ""},
		{"ROS_HOSTNAME unknown", env{"ROS_HOSTNAME": "robot"}, "", names.Args{}, away, nil, lan, "robot", ""},
		{"__hostname beats ROS_HOSTNAME", env{"ROS_HOSTNAME": "robot"}, "", names.Args{Hostname: "192.168.1.5", IP: "10.0.0.5"}, away, nil, lan, "192.168.1.5", "192.168.1.5"},
		{"__ip beats ROS_HOSTNAME", env{"ROS_HOSTNAME": "robot"}, "", names.Args{IP: "10.0.0.5"}, away, nil, lan, "10.0.0.5", "10.0.0.5"},
		{"nothing set, master on loopback", env{}, "", names.Args{}, here, nil, lan, "127.0.0.1", "127.0.0.1"},
		{"nothing set, master on 127.0.0.1", env{}, "", names.Args{}, "127.0.0.1:1", nil, lan, "127.0.0.1", "127.0.0.1"},
		{"nothing set", env{}, "", names.Args{}, away, map[string][]netip.Addr{"box": {lan}}, lan, "box", "192.168.1.5"},
		{"nothing set, another way to the master", env{}, "", names.Args{}, away, map[string][]netip.Addr{"box": {lan}}, wlan, "box", ""},
		{"nothing set, name on loopback", env{}, "", names.Args{}, away, map[string][]netip.Addr{"box": {debian}}, lan, "box", ""},
		{"bind", env{"ROS_HOSTNAME": "robot"}, "0.0.0.0", names.Args{}, away, nil, lan, "robot", "0.0.0.0"},
		{"bind, ROS_IP behind NAT", env{"ROS_IP": "203.0.113.9"}, "0.0.0.0", names.Args{}, away, nil, lan, "203.0.113.9", "0.0.0.0"},
		{"bind all beside a master on loopback", env{}, "0.0.0.0", names.Args{}, here, nil, lan, "box", "0.0.0.0"},
		{"bind one", env{}, "10.0.0.5", names.Args{}, here, nil, lan, "10.0.0.5", "10.0.0.5"},
	}
	strangers := []string{"ROS_IP behind NAT", "ROS_HOSTNAME not local", "bind, ROS_IP behind NAT"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &Locator{
				getenv:   func(k string) string { return tt.env[k] },
				hostname: func() (string, error) { return "box", nil },
				local:    func() []netip.Addr { return []netip.Addr{addr("127.0.0.1"), lan, wlan} },
				lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
					if a := tt.dns[host]; a != nil {
						return a, nil
					}
					return nil, errors.New("no such host")
				},
				sourceAddr: func(context.Context, string) netip.Addr { return tt.toward },
			}
			got := l.Find(t.Context(), tt.ask, tt.a, tt.master)
			if got.Host != tt.host || got.Bind != tt.bind {
				t.Errorf("got %+v, want %q on %q", got, tt.host, tt.bind)
			}
			if foreign := slices.Contains(strangers, tt.name); got.Foreign != foreign {
				t.Errorf("the address is one of this machine: %v, want %v", !got.Foreign, !foreign)
			}
		})
	}
}

func TestAdvertisedFallsBackOnInterfaces(t *testing.T) {
	addr := netip.MustParseAddr
	for want, local := range map[string][]netip.Addr{
		"203.0.113.9": {addr("127.0.0.1"), addr("10.0.0.5"), addr("203.0.113.9")},
		"10.0.0.5":    {addr("127.0.0.1"), addr("169.254.1.1"), addr("10.0.0.5")},
		"127.0.0.1":   {addr("127.0.0.1")},
	} {
		l := &Locator{
			getenv:   func(string) string { return "" },
			hostname: func() (string, error) { return "localhost", nil },
			local:    func() []netip.Addr { return local },
		}
		if got, explicit := l.advertised(names.Args{}); got != want || explicit {
			t.Errorf("got %q, %v; want %q", got, explicit, want)
		}
	}
}

func TestCheckHost(t *testing.T) {
	for _, h := range []string{"robot", "robot-1.local", "10.0.0.5", "fe80::1"} {
		if err := CheckAdvertised(h); err != nil {
			t.Error(err)
		}
	}
	for _, h := range []string{"a b", "a<b", "a/b", "a@b", "a\n", "ü"} {
		if CheckAdvertised(h) == nil {
			t.Errorf("%q accepted", h)
		}
	}
}
