package face_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/player/control"
)

// TestTopicLabels: whatever topics are called, the metrics can be read, and are not too
// many.
func TestTopicLabels(t *testing.T) {
	t.Parallel()
	hostile := []string{"/a\"b\\c\nd", "/\xff\xfe", "/" + strings.Repeat("x", 1000), "/" + strings.Repeat("x", 1001), "/<script>"}
	for i := range 600 {
		hostile = append(hostile, fmt.Sprintf("/t%d", i))
	}
	backend, _ := playing(hostile...)
	a := webtest.Serve(t, backend).Get("/metrics")
	if a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	topics := regexp.MustCompile(`(?m)^goplay_messages_total\{topic="((?:[^"\\]|\\.)*)"\} (\S+)$`).FindAllStringSubmatch(a.Body, -1)
	if len(topics) != 501 {
		t.Errorf("%d topics", len(topics))
	}
	sum := 0.0
	for _, m := range topics {
		var n float64
		fmt.Sscan(m[2], &n)
		sum += n
		if len(m[1]) > 300 {
			t.Errorf("a label of %d bytes", len(m[1]))
		}
	}
	if want := 1000.0 * 605 * 606 / 2; sum != want {
		t.Errorf("together %v, want %v", sum, want)
	}
	for _, want := range []string{`topic="other"`, `topic="/a\"b\\c\nd"`} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestMetricsAreDescribed: what is served stands in docs/http.md, and nothing else does.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckMetrics(t, face.New(), "../../../../docs/http.md")
}

// TestControlIsDescribed checks that docs/control.md lists the services that are offered.
func TestControlIsDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckControl(t, "goplay", face.New().Commands(), "../../../../docs/control.md")
}

// TestCommandsAreDescribed checks that docs/http.md lists the commands that are served.
func TestCommandsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckCommands(t, "goplay", face.New().Commands(), "../../../../docs/http.md")
}

// TestPlayMetrics: the numbers are those of the program.
func TestPlayMetrics(t *testing.T) {
	t.Parallel()
	backend, f := playing("/t")
	f.did("", func(s *control.Stats) { s.Topics[0].Dropped = 7 })
	const want = `
# HELP goplay_messages_dropped_total Messages that subscribers did not get because their queues were full.
# TYPE goplay_messages_dropped_total counter
goplay_messages_dropped_total{topic="/t"} 7
# HELP goplay_position_seconds Where play is, from the first message.
# TYPE goplay_position_seconds gauge
goplay_position_seconds 21.3
# HELP goplay_rate_achieved Bag time per wall time so far; absent while not known.
# TYPE goplay_rate_achieved gauge
goplay_rate_achieved 0.9987
`
	if err := testutil.CollectAndCompare(backend, strings.NewReader(want), "goplay_messages_dropped_total", "goplay_position_seconds", "goplay_rate_achieved"); err != nil {
		t.Error(err)
	}
}

// TestLostInDamage: a number of lost messages that is unknown is no number, neither among the
// metrics nor in the state.
func TestLostInDamage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		damage         control.DamageCount
		metrics, state string
	}{
		{control.DamageCount{}, "goplay_damaged_places_total 0\ngoplay_lost_in_damage_total 0\n", `"damaged_places":0,"lost_in_damage":0`},
		{control.DamageCount{Places: 2, Messages: 7}, "goplay_damaged_places_total 2\ngoplay_lost_in_damage_total 7\n", `"damaged_places":2,"lost_in_damage":7`},
		{control.DamageCount{Places: 2, Messages: 7, Unknown: 1}, "goplay_damaged_places_total 2\n", `"damaged_places":2,"lost_in_damage":null`},
	} {
		backend, f := playing("/t")
		f.did("", func(s *control.Stats) { s.Damage = tc.damage })
		c := webtest.Serve(t, backend)
		got := strings.Join(regexp.MustCompile(`(?m)^goplay_(damaged|lost_in).*\n`).FindAllString(c.Get("/metrics").Body, -1), "")
		if got != tc.metrics {
			t.Errorf("%+v: metrics\n%s", tc.damage, got)
		}
		if state := c.Get("/api/v1/state").Body; !strings.Contains(state, tc.state) {
			t.Errorf("%+v: no %s in %s", tc.damage, tc.state, state)
		}
	}
}
