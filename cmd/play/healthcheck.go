package main

import (
	"github.com/gorosbag/gorosbag/internal/program/doors"
)

// healthcheck probes an instance with the same options, and returns the exit code.
func healthcheck(args []string) int {
	s, _, err := parse(args)
	return doors.Healthcheck(name, s.Log.JSON(), &s.Web, s.selection.bags, err)
}
