package eye_test

import (
	"fmt"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"

	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/internal/view/eye"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestKeptIsJudged: a small picture that was kept gets its hints, also after the history of its camera was dropped.
func TestKeptIsJudged(t *testing.T) {
	t.Parallel()
	dark := sensor_msgs.Image{Width: 32, Height: 32, Step: 32, Encoding: "mono8", Data: make([]byte, 32*32)}
	typ, payload := rosmade.Type(t, dark), rosmade.Payload(t, dark)
	e, at := eye.New(), rosbag.Time{Sec: 1000}
	look := func(camera string) string {
		t.Helper()
		if _, err := e.Small(t.Context(), camera, at, typ, payload, eye.Place{ID: "1000.0:0"}); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(e.Hints(camera, at))
	}
	first := look("/camera")
	for n := range 100 { // more than there are histories
		look(fmt.Sprint("/other", n))
	}
	if again := look("/camera"); again != first || first != "[{dark 0} {uniform 0}]" {
		t.Errorf("first %s, again %s", first, again)
	}
}
