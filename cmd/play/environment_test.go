package main

import (
	"os"
	"testing"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/testkit/configtest"
)

// described is the program with the files that describe its options.
var described = configtest.Program{Name: name, Word: "x.bag", Run: run, Options: func() *config.Program { return new(settings).program() }}

func TestMain(m *testing.M) { os.Exit(described.Main(m)) }
