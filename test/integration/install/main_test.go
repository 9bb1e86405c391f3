// Package install_test tests what users install: the Debian package with its systemd units, and the
// container images with docker-compose.yml. Its tests spend minutes in dpkg and docker, so they are not
// in package service, whose tests they would hold up.
package install_test

import (
	"os"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, removeImages)) }
