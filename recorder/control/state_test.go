package control_test

import (
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestDropCauseNames: each cause has a name of its own.
func TestDropCauseNames(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(slices.Values(control.DropCauseNames()))
	if len(slices.Compact(slices.Clone(names))) != int(control.DropCauses) || names[0] == "" {
		t.Errorf("the names are %q", names)
	}
	for _, no := range []control.DropCause{-1, control.DropCauses} {
		if no.String() != "unknown" {
			t.Errorf("cause %d is called %q", int(no), no)
		}
	}
}
