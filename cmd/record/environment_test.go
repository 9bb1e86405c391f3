package main

import (
	"os"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testproc"
)

// runVariable makes the test program run as gorecord.
const runVariable = "RUN_GORECORD"

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) != "" {
		os.Exit(run(os.Args[1:]))
	}
	testproc.ClearOptions()
	os.Exit(m.Run())
}
