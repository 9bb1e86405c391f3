package control_test

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestTimesBeyondTheClasses are counted, in no class.
func TestTimesBeyondTheClasses(t *testing.T) {
	t.Parallel()
	var long control.Times
	long.Add(time.Minute)
	if long.Count != 1 || long.Classes != (control.Times{}).Classes {
		t.Errorf("what is in no class: %+v", long)
	}
}
