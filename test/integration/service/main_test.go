package service_test

import (
	"os"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
