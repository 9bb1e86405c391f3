package recordface_test

import (
	"github.com/gorosbag/gorosbag/internal/web/webtest"

	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/recorder"
)

// TestMetricsAreDescribed: what is served stands in docs/http.md, and nothing else does.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckMetrics(t, recordface.New(new(recorder.Control), time.Minute), "../../docs/http.md")
}
