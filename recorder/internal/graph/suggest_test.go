package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestSuggestions: what is misspelled is told of once, with what is published under similar names. Names that
// have none, and patterns before the robot has started, are looked at again.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	image := tcpros.TopicInfo{Name: "/camera/image", Type: "sensor_msgs/Image"}
	own := tcpros.TopicInfo{Name: "/rec/status", Type: "diagnostic_msgs/DiagnosticArray"}
	log := tcpros.TopicInfo{Name: "/rosout_agg", Type: "rosgraph_msgs/Log"}
	for name, test := range map[string]struct {
		missing []string
		globs   []string
		types   []string
		listed  []tcpros.TopicInfo
		want    []string
		done    bool
	}{
		"nothing to look for":             {listed: []tcpros.TopicInfo{image}, done: true},
		"a name, published":               {missing: []string{"/camera/image"}, listed: []tcpros.TopicInfo{image}, done: true},
		"a name, misspelled":              {missing: []string{"/camera/imgae", "/camera/imgae"}, listed: []tcpros.TopicInfo{image}, want: []string{"/camera/imgae [/camera/image]"}, done: true},
		"a name, unlike all":              {missing: []string{"/odom"}, listed: []tcpros.TopicInfo{image}},
		"a glob that matches":             {globs: []string{"/camera/*"}, listed: []tcpros.TopicInfo{image}, done: true},
		"a glob, misspelled":              {globs: []string{"/camrea/*"}, listed: []tcpros.TopicInfo{image}, want: []string{"/camrea/* [/camera/image]"}, done: true},
		"a glob, unlike all":              {globs: []string{"/odom/**"}, listed: []tcpros.TopicInfo{image, own}, want: []string{"/odom/** []"}, done: true},
		"a glob, and no robot":            {globs: []string{"/odom/**"}, listed: []tcpros.TopicInfo{own, log}},
		"a name, a glob, and no robot":    {missing: []string{"/odom"}, globs: []string{"/odom/**"}, listed: []tcpros.TopicInfo{own, log}},
		"a type, misspelled":              {types: []string{"sensor_msgs/Imgae"}, listed: []tcpros.TopicInfo{image, log}, want: []string{"sensor_msgs/Imgae [sensor_msgs/Image]"}, done: true},
		"a type that matches, and a glob": {types: []string{"*/Image"}, globs: []string{"/imu*"}, listed: []tcpros.TopicInfo{image}, want: []string{"/imu* []"}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.WarnLevel)
			g := graphOf(t, testgraph.New(t))
			g.Log = zap.New(core)
			names, types := topicmatch.Globs(test.globs...), topicmatch.Globs(test.types...)
			g.Selects = func(topic, typ string) bool {
				byName, byType := names.Match(topic), types.Match(typ)
				return byName || byType
			}
			g.Unmatched = func() []string { return append(names.Unmatched(), types.Unmatched()...) }
			s := g.newSuggestions(test.missing)
			for range 2 {
				s.look(test.listed)
			}
			var got []string
			for _, e := range logs.All() {
				fields := e.ContextMap()
				what, near := fields["topic"], fields["nearest"]
				if what == nil {
					what = fields["pattern"]
				}
				if near == nil {
					near = []any{}
				}
				if asks := strings.HasSuffix(e.Message, "did you mean another?"); asks != (len(near.([]any)) > 0) {
					t.Errorf("logged: %s %v", e.Message, near)
				}
				got = append(got, fmt.Sprint(what, " ", near))
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
			if s.done() != test.done {
				t.Errorf("nothing left to warn of: %v", s.done())
			}
		})
	}
}
