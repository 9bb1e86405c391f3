package main

import (
	"os"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.ClearOptions()
	os.Exit(m.Run())
}
