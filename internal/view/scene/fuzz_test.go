package scene_test

import (
	"encoding/json"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/geometry_msgs"
	"github.com/aler9/goroslib/pkg/msgs/nav_msgs"
	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"

	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/internal/view/scene"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// FuzzScenes makes scenes of any payloads: they marshal to JSON, and keep their limits.
func FuzzScenes(f *testing.F) {
	messages := []any{
		sensor_msgs.LaserScan{Ranges: []float32{1}, RangeMax: 2},
		cloud(2, 1, 12, f32(1, 2, 3, 4, 5, 6), "x 0 7", "y 4 7", "rgb 8 7"), grid(2, 1, 1, 0, 100),
		nav_msgs.Path{Poses: make([]geometry_msgs.PoseStamped, 1)},
		odometry("odom", 1, 2), fix(0, 48, 11), transforms("b of a", "a of b"),
		diagnostics("/a 0 fine"), line(1, 2, "/a", "text"),
	}
	types := make([]*rosmsg.Type, len(messages))
	for i, msg := range messages {
		types[i] = rosmade.Type(f, msg)
		f.Add(uint8(i), rosmade.Payload(f, msg), rosmade.Payload(f, msg))
	}
	f.Fuzz(func(t *testing.T, which uint8, first, second []byte) {
		typ := types[int(which)%len(types)]
		var s any
		if kind := scene.KindOf(typ); kind.Gathers() {
			g := scene.Gather(kind, scene.Options{Start: start})
			_ = g.Add(scene.Message{Type: typ, Time: at(0), Publisher: "/n", Payload: first})
			_ = g.Add(scene.Message{Type: typ, Time: at(1), Publisher: "/m", Payload: second})
			s = g.Scene()
		} else {
			var err error
			if s, err = scene.Of(typ, first); err != nil {
				return
			}
		}
		if p, ok := s.(*scene.PointsScene); ok && (len(p.Places) != 4*p.Count || p.Count > 20_000 || p.By != "" && len(p.Colors) != p.Count && len(p.Colors) != 3*p.Count) {
			t.Fatalf("%d points, %d bytes of places, %d of colors", p.Count, len(p.Places), len(p.Colors))
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
	})
}
