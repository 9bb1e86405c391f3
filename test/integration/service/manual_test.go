package service_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestManualPages: each program has a page that the formatters read without an error.
func TestManualPages(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"gorecord": "--max-rate=TOPIC=HZ", "goplay": "--wait-for-subscribers", "gobag": "gobag reindex", "gomaster": "--remote-shutdown",
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			page, err := exec.Command(filepath.Join(harness.Bin(), program), "--man").Output()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), program+".1")
			if err := os.WriteFile(path, page, 0o600); err != nil {
				t.Fatal(err)
			}
			formatted := false
			if _, err := exec.LookPath("mandoc"); err == nil {
				if out, err := exec.Command("mandoc", "-T", "lint", "-W", "error", path).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
				formatted = true
			}
			if _, err := exec.LookPath("man"); err == nil {
				cmd := exec.Command("man", "--warnings", "-E", "ascii", "-l", path)
				cmd.Env = append(os.Environ(), "LC_ALL=C", "MANWIDTH=200", "MAN_KEEP_FORMATTING=")
				var errs strings.Builder
				cmd.Stderr = &errs
				out, err := cmd.Output()
				if err != nil || errs.Len() > 0 || !strings.Contains(string(out), want) {
					t.Errorf("%v: %s\nno %q in\n%.2000s", err, errs.String(), want, out)
				}
				formatted = true
			}
			if !formatted {
				t.Skip("neither man nor mandoc is installed (Debian: apt-get install man-db mandoc)")
			}
		})
	}
}
