package termtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// After lets the time of a bubble pass.
func After(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Golden compares got with testdata/NAME.txt. With -update it rewrites that file.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // others may read it
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}
