package web_test

import (
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
)

// TestOpenMetrics: who asks for OpenMetrics gets that, and the health is among the metrics.
func TestOpenMetrics(t *testing.T) {
	t.Parallel()
	program := newProgram()
	c := webtest.Serve(t, program)
	plain := c.Get("/metrics")
	if !strings.HasPrefix(plain.Header.Get("Content-Type"), "text/plain") || strings.Contains(plain.Body, "# EOF") {
		t.Errorf("%v", plain.Header)
	}
	a := c.Get("/metrics", "Accept: application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "application/openmetrics-text") || !strings.HasSuffix(a.Body, "\n# EOF\n") {
		t.Errorf("%v\n%s", a.Header, a.Body)
	}
	for _, want := range []string{"\nfake_healthy 1\n", "\nfake_build_info{goversion=\"go1."} {
		if !strings.Contains(plain.Body, want) {
			t.Errorf("no %q", want)
		}
	}
}
