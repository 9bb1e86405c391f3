package install_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// maxInitBytes is what a program may allocate before main: it is what a start takes, whatever else the machine does.
// Tables and regular expressions that few runs need are made when they are needed.
var maxInitBytes = map[string]int{"gorecord": 620_000, "goplay": 620_000, "gobag": 700_000, "gomaster": 260_000}

// maxProgramBytes is how large a program may be.
var maxProgramBytes = map[string]int64{"gorecord": 24_500_000, "goplay": 26_000_000, "gobag": 28_000_000, "gomaster": 12_000_000}

// TestStart: programs are small, and begin soon.
func TestStart(t *testing.T) {
	t.Parallel()
	for program, most := range maxInitBytes {
		path := filepath.Join(harness.Bin(), program)
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.Size() > maxProgramBytes[program] {
			t.Errorf("%s has %d bytes, at most %d", program, st.Size(), maxProgramBytes[program])
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var trace bytes.Buffer
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		sum, packages := 0, 0
		for line := range strings.Lines(trace.String()) {
			var name string
			var at, took float64
			var n int
			if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &took, &n); err == nil {
				sum += n
				packages++
			}
		}
		if packages < 10 || sum > most {
			t.Errorf("%s allocates %d bytes in %d packages before main, at most %d:\n%s", program, sum, packages, most, trace.String())
		}
	}
}
