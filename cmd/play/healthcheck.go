package main

import (
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
)

// healthcheck probes an instance with the same options, and returns the exit code.
func healthcheck(args []string) int {
	var c config.Play
	err := config.Parse(name, config.PlayHelp, program.Version(), args, &c, config.PlayMultitoken...)
	return doors.Healthcheck(name, c.JSON(), &c.Web, c.Files, err)
}
