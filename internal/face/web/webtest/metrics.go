package webtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/face/web"
)

// common are the metrics of every program, without its name.
var common = []string{
	"info", "build_info", "healthy", "master_up", "viewers", "viewer_messages_total",
	"viewer_bytes_total", "viewer_skipped_total",
}

// nameOf finds the name in a description, which has no method for it.
var nameOf = regexp.MustCompile(`fqName: "([a-z_]+)"`)

// CheckMetrics checks that the metrics of a program are those in a page of the documentation: in
// the first cells of its tables.
func CheckMetrics(t *testing.T, backend web.Backend, page string) {
	t.Helper()
	text, err := os.ReadFile(page) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`(" + backend.Program() + "_[a-z_]+)`")
	var described, served []string
	for line := range strings.Lines(string(text)) {
		if cell, ok := strings.CutPrefix(line, "| "); ok {
			cell, _, _ = strings.Cut(cell, " |")
			for _, m := range name.FindAllStringSubmatch(cell, -1) {
				described = append(described, m[1])
			}
		}
	}
	for _, metric := range common {
		served = append(served, backend.Program()+"_"+metric)
	}
	descs := make(chan *prometheus.Desc, 100)
	backend.Describe(descs)
	close(descs)
	for d := range descs {
		served = append(served, nameOf.FindStringSubmatch(d.String())[1])
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("%s describes\n%q\nserved are\n%q", page, described, served)
	}
}
