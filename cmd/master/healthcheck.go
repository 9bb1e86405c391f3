package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// actionHealthcheck is the only word that gomaster takes instead of serving.
const actionHealthcheck = "healthcheck"

// healthTimeout bounds a health check as a whole.
const healthTimeout = 2 * time.Second

var errNoMaster = errors.New("no ROS master answers")

// healthcheck asks the master that the same options would have started, on this
// machine, for a sign of life. Container engines call it: an image from scratch has no
// other program.
func healthcheck(ctx context.Context, f *flags, port string) error {
	host := strings.Trim(f.Listen, "[]")
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	at := net.JoinHostPort(host, port)
	answer, err := xmlrpc.Call(ctx, xmlrpc.NewHTTPClient(healthTimeout), "http://"+at+"/", "getPid",
		"/"+actionHealthcheck)
	if err != nil {
		return fmt.Errorf("%w at %s: %s", errNoMaster, at, xmlrpc.Reason(err))
	}
	if reply, ok := answer.([]any); !ok || len(reply) != 3 || reply[0] != 1 {
		return fmt.Errorf("%w at %s: something else does", errNoMaster, at)
	}
	return nil
}
