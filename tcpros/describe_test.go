package tcpros_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	_, args, err := tcpros.ParseArgs([]string{"imu:=/other", "__hostname:=localhost"})
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"ROS_MASTER_URI": "http://127.0.0.1:4711", "ROS_NAMESPACE": "/robot"}
	got, err := tcpros.Describe(t.Context(), tcpros.NodeOptions{
		BaseName: "record", Anonymous: true, Args: args, Getenv: func(name string) string { return env[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ROS master: http://127.0.0.1:4711",
		"Node: /robot/record_0, with the time in place of 0",
		"Known to others as: localhost, listening on 127.0.0.1 (the advertised host is localhost)",
		"The name imu means: /other",
		"The name ~imu means: /robot/record_0/imu",
		"The name imu means: /other",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	env["ROS_MASTER_URI"] = "robot:11311"
	if _, err := tcpros.Describe(t.Context(), tcpros.NodeOptions{BaseName: "record", Getenv: func(name string) string { return env[name] }}); err == nil ||
		!strings.Contains(err.Error(), "http:// is missing: write http://robot:11311") {
		t.Errorf("got %v", err)
	}
}

// TestDescribeLooksUp checks that a host name is looked up as NewNode does.
func TestDescribeLooksUp(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ROS_MASTER_URI": "http://127.0.0.1:4711", "ROS_HOSTNAME": "robot"}
	got, err := tcpros.Describe(t.Context(), tcpros.NodeOptions{
		BaseName: "record", Getenv: func(name string) string { return env[name] },
		LookupHost: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.1.1")}, ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "Known to others as: robot, listening on 127.0.1.1 (the advertised host name stands for it)"
	if !slices.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
