package recordface_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/recorder"
)

// TestMetricsAreDescribed: what is served stands in docs/http.md, and nothing else does.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(gorecord_[a-z_]+)").FindAllStringSubmatch(string(doc), -1) {
		described = append(described, m[1])
	}
	served := []string{"gorecord_info", "gorecord_build_info", "gorecord_healthy", "gorecord_master_up"} // those of each program
	descs := make(chan *prometheus.Desc, 100)
	recordface.New(new(recorder.Control), time.Minute).Describe(descs)
	close(descs)
	for d := range descs {
		served = append(served, regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(d.String())[1])
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described\n%q\nserved\n%q", described, served)
	}
}
