package recordface_test

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/web/webtest"
	"github.com/gorosbag/gorosbag/recorder"
)

// TestMetricsAreDescribed checks that docs/http.md describes the metrics that are served.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckMetrics(t, recordface.New(new(recorder.Control), time.Minute), "../../docs/http.md")
}
