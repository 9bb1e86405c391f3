package testkit

import (
	"os"
	"strings"
)

// ClearOptions unsets the variables of ROS, and the variables that are options of the programs,
// before any test runs: the user who tests may have sourced the setup of ROS, or use the programs.
func ClearOptions() {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range []string{"ROS_", "GORECORD_", "GOPLAY_"} {
			if strings.HasPrefix(name, prefix) {
				_ = os.Unsetenv(name) // fails for an empty name only
			}
		}
	}
}
