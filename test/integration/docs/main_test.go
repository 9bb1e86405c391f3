// Package docs_test checks what README and docs say: their commands, links and pictures.
package docs_test

import (
	"flag"
	"os"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

var update = flag.Bool("update", false, "write the pictures in docs/img anew")

// root is the checkout.
const root = "../../.."

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}
