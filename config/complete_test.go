package config_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// roleVariable makes the test program one that a shell asks for completions.
const roleVariable = "CONFIG_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		_, _, _ = parseSample()
		os.Exit(7) // Parse ends the program
	}
	testkit.ClearOptions()
	os.Exit(m.Run())
}

// TestCompletion asks as shells do, through the environment.
func TestCompletion(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"gosample --max-r": "--max-rate", "gosample -a --overflow ": "block", "gosample --conf": "--config"} {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), roleVariable+"=asked", "COMP_LINE="+line)
		out, err := cmd.Output()
		if err != nil || !slices.Contains(strings.Fields(string(out)), want) {
			t.Errorf("%q: %v, %q without %s", line, err, out, want)
		}
	}
}
