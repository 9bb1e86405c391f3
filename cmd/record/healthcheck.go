package main

import (
	"context"
	"os"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/web"
)

// healthcheckCommand as the first argument makes the program probe another instance that runs
// with the same options.
const healthcheckCommand = "healthcheck"

// healthcheck probes the web server that an instance with the same options serves on this
// machine. Container engines call it: an image without a base has no other program.
func healthcheck(args []string) int {
	s, _, err := parse(args)
	if err == nil {
		err = web.Probe(context.Background(), s.Web.Listen, s.Web.Token(), s.record.Select.Topics[1:]...)
	}
	if err != nil {
		return (&program.Errors{W: os.Stderr, Name: name, JSON: s.Log.JSON()}).Fail(program.ExitUsage, err)
	}
	return program.ExitOK
}
