package main

import (
	"context"
	"os"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/web"
)

// wordHealthcheck as the first word makes the program ask another one that runs with the
// same options.
const wordHealthcheck = "healthcheck"

// healthcheck asks the web server that the same options would have started, on this
// machine, whether it is well. Container engines call it: an image from scratch has no
// other program.
func healthcheck(args []string) int {
	var c config.Play
	err := config.Parse(name, config.PlayHelp, program.Version(), args, &c, config.PlayMultitoken...)
	if err == nil {
		err = probe(&c)
	}
	if err != nil {
		return program.Fail(os.Stderr, name, program.ExitUsage, err)
	}
	return program.ExitOK
}

// probe asks with the words behind healthcheck.
func probe(c *config.Play) error {
	token, err := c.Web.Secret()
	if err != nil {
		return err
	}
	return web.Probe(context.Background(), string(c.Web.Listen), token, c.Files[1:]...)
}
