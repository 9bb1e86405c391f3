// Package live_test connects viewers to gorecord and goplay as Foxglove and Lichtblick do. The viewer
// is package test/viewer, and in some tests python3-websocket and Chromium: neither shares code with
// the server.
package live_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/viewer"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// connect connects a viewer, which leaves at the end of the test.
func connect(t *testing.T, host string, o viewer.Options) *viewer.Viewer {
	t.Helper()
	v, err := viewer.Start(t.Context(), host, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		v.Close()
		if t.Failed() {
			t.Logf("the viewer was told: %s", told(v.Events()))
		}
	})
	return v
}

// told returns events as a text: the first and the last ones.
func told(events []viewer.Event) string {
	const shown = 30
	var lines []string
	for i, e := range events {
		if i >= shown && i < len(events)-shown {
			continue
		}
		e.Payload = e.Payload[:min(len(e.Payload), 16)]
		for k := range e.Channels {
			e.Channels[k].Schema = e.Channels[k].Schema[:min(len(e.Channels[k].Schema), 20)]
		}
		lines = append(lines, fmt.Sprintf("\n%d: %+v", i, e))
	}
	return fmt.Sprint(lines)
}

// watch connects a viewer and subscribes to topics as soon as they are offered.
func watch(t *testing.T, host string, topics ...string) *viewer.Viewer {
	t.Helper()
	v := connect(t, host, viewer.Options{})
	subscribe(t, v, topics...)
	return v
}

// subscribe subscribes a viewer to topics as soon as all are offered.
func subscribe(t *testing.T, v *viewer.Viewer, topics ...string) {
	t.Helper()
	offered(t, v, topics...)
	if err := v.Subscribe(topics...); err != nil {
		t.Fatal(err)
	}
}

// offered waits until topics are offered.
func offered(t *testing.T, v *viewer.Viewer, topics ...string) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%q are offered", topics), func() bool {
		now := v.Topics()
		return !slices.ContainsFunc(topics, func(topic string) bool { return !slices.Contains(now, topic) })
	}, func() string { return fmt.Sprint(v.Topics(), v.End()) })
}

// texts returns the texts of the std_msgs/String messages of a topic.
func texts(v *viewer.Viewer, topic string) []string {
	var all []string
	for _, e := range v.Messages(topic) {
		all = append(all, string(e.Payload[4:]))
	}
	return all
}

// hasStatus waits for a notice with a text.
func hasStatus(t *testing.T, v *viewer.Viewer, level int, is func(text string) bool) {
	t.Helper()
	harness.Eventually(t, "a status comes", func() bool {
		return slices.ContainsFunc(v.Statuses(), func(s viewer.Status) bool { return s.Level == level && is(s.Message) })
	}, func() string { return fmt.Sprintf("%+v", v.Statuses()) })
}

// state waits until the state of playback is as is says.
func state(t *testing.T, v *viewer.Viewer, what string, is func(s viewer.Playback) bool) {
	t.Helper()
	harness.Eventually(t, what, func() bool { return slices.ContainsFunc(v.States(), is) }, func() string { return fmt.Sprintf("%+v", v.States()) })
}
