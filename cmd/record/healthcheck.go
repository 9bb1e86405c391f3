package main

import (
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
)

// healthcheck probes an instance with the same options, and returns the exit code.
func healthcheck(args []string) int {
	var c config.Record
	err := config.Parse(name, config.RecordHelp, program.Version(), args, &c)
	return doors.Healthcheck(name, c.JSON(), &c.Web, c.Topics, err)
}
