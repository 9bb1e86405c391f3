package service_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// monitoring is where the files for Prometheus and Grafana are.
const monitoring = "../../../packaging/"

// TestAlertRules runs promtool: alerts fire for what is bad, and none does on a good day.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	harness.Long(t, "promtool takes a second")
	harness.Need(t, "promtool", "--version")
	for _, args := range [][]string{{"check", "rules", "gorosbag.rules.yml"}, {"test", "rules", "gorosbag.test.yml"}, {"check", "config", "--syntax-only", "prometheus.yml"}} {
		c := exec.Command("promtool", args...)
		c.Dir = monitoring + "prometheus"
		if out, err := testkit.CombinedOutput(c); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestMonitoredMetrics: what the alerts and the dashboard ask for, a recorder serves from its
// start, before anything was lost, uploaded or deleted.
func TestMonitoredMetrics(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Record("/silent", "/t", "-O", "out", "--upload=file://"+t.TempDir(), "--http="+host)
	peers.NewFlood(g, "/t", 1000).WaitSent(5)
	_, _, text := ask(t, "GET", "http://"+host+"/metrics", "")
	served := map[string]bool{"up": true}
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)[ {]`).FindAllStringSubmatch(text, -1) {
		served[m[1]] = true
	}
	// Those that are there only while their value is known, or something is wrong.
	served["gorecord_disk_seconds_until_full"], served["gorecord_finding_age_seconds"] = true, true

	asked := expressions(t)
	if len(asked) < 25 {
		t.Errorf("%d expressions found: this test looks in the wrong place", len(asked))
	}
	for _, expr := range asked {
		names := regexp.MustCompile(`\b(?:gorecord|goplay|go|process)_[a-z_]+`).FindAllString(expr, -1)
		for _, name := range names {
			if !served[name] {
				t.Errorf("%s is not served, and asked for by %s", name, expr)
			}
		}
		if len(names) == 0 && !strings.HasPrefix(expr, "up{") {
			t.Errorf("no metric of ours in %s", expr)
		}
	}
	for _, want := range []string{
		`gorecord_lost_total{cause="queue_full"} 0`, `gorecord_lost_total{cause="missed"} 0`, `gorecord_bags_deleted_total{reason="limits"} 0`,
		`gorecord_uploads_total 0`, `gorecord_uploads_last_timestamp_seconds 0`, `gorecord_healthy 1`, `gorecord_last_message_age_seconds{topic="/silent"} `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	lint(t, text)
	rec.Stop()
}

// lint lets promtool look at the metrics themselves.
func lint(t *testing.T, text string) {
	if _, err := exec.LookPath("promtool"); err != nil {
		return // TestAlertRules says so
	}
	c := exec.Command("promtool", "check", "metrics")
	c.Stdin = strings.NewReader(text)
	if out, err := testkit.CombinedOutput(c); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// expressions returns those of the alerts and of the dashboard.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(monitoring, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Expr string `yaml:"expr"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(read("prometheus/gorosbag.rules.yml"), &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			all = append(all, r.Expr)
		}
	}
	var dashboard struct {
		Panels []struct {
			ID      int `json:"id"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(read("grafana/gorosbag.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, p := range dashboard.Panels {
		if slices.Contains(ids, p.ID) {
			t.Errorf("two panels have the number %d", p.ID)
		}
		ids = append(ids, p.ID)
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}
