package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/cmd/record/internal/expect"
	"github.com/gorosbag/gorosbag/internal/bags/gaps"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
)

// TestExpectYAML: what a recording had can be put into a configuration file as it is.
func TestExpectYAML(t *testing.T) {
	t.Parallel()
	got := expect.YAML("good.bag", &gaps.Report{
		Usual:    []finding.Usual{{Topic: "/camera", Hz: 29.98}, {Topic: "/imu", Hz: 1000.2}, {Topic: "/map"}, {Topic: "/odd\n"}, {Topic: "/slow", Hz: 0.1}},
		Latched:  map[string]bool{"/map": true},
		Episodes: []gaps.Episode{{Finding: finding.Finding{Topic: "/imu", Kind: finding.Silent}}},
	})
	const want = `# What good.bag had, less a tenth: the least rates in Hz. 0: the topic has to appear.
# Without topics, -a or all: true, gorecord records these topics only.
expect:
  "/camera": 26
  "/imu": 900
  "/map": 0 # latched
  "/slow": 0.09
# irregular, or too few messages: "/odd\n"
# not good: /imu silent for 0 ms
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	file := filepath.Join(t.TempDir(), "robot.yaml")
	if err := os.WriteFile(file, []byte("all: true\n"+got), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := parse([]string{"--config", file})
	if err != nil {
		t.Fatal(err)
	}
	if e := s.record.Expect; len(e) != 4 || e[0].String() != "/camera=26" || e[3].String() != "/slow=0.09" {
		t.Errorf("%v", e)
	}
}

// TestExpectSelects: without any selection the expected topics are recorded, and a warning says so.
func TestExpectSelects(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--expect /imu=100 --expect /cam/*=0": "[/imu /cam/*] false 1",
		"--expect /imu=100 -a":                "[] true 0",
		"--expect /imu=100 /gps":              "[/gps] false 0",
		"--expect /imu=100 --type a/*":        "[] false 0",
		"--expect /imu=100 -x /b":             "[] true 1", // as stock does: all others
	} {
		s, err := parse(strings.Fields(args))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		core, logged := observer.New(zap.WarnLevel)
		o := s.options(zap.New(core))
		if got := fmt.Sprint(o.Select.Topics, " ", o.Select.All, " ", logged.Len()); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestExpectOfABag: a bag that cannot be read is an error that names it.
func TestExpectOfABag(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := expect.Write(t.Context(), filepath.Join(t.TempDir(), "no.bag"), &text); err == nil || text.Len() > 0 {
		t.Errorf("%v, %q", err, text.String())
	}
	if code := runExpect([]string{"--all"}); code != 1 {
		t.Errorf("exit code %d", code)
	}
}
