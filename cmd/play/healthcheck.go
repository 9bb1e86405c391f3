package main

import (
	"context"
	"os"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/web"
)

// healthcheckCommand as the first argument makes the program probe another instance that runs
// with the same options.
const healthcheckCommand = "healthcheck"

// healthcheck probes the web server that an instance with the same options serves on this
// machine. Container engines call it: an image without a base has no other program.
func healthcheck(args []string) int {
	var c config.Play
	err := config.Parse(name, config.PlayHelp, program.Version(), args, &c, config.PlayMultitoken...)
	if err == nil {
		err = probe(&c)
	}
	if err != nil {
		return (&program.Errors{W: os.Stderr, Name: name, JSON: c.JSON()}).Fail(program.ExitUsage, err)
	}
	return program.ExitOK
}

// probe sends the probe that the arguments after healthcheck select.
func probe(c *config.Play) error {
	token, err := c.Web.Secret()
	if err != nil {
		return err
	}
	return web.Probe(context.Background(), string(c.Web.Listen), token, c.Files[1:]...)
}
