package bag_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
)

// inStore runs gobag with the credentials of s and returns what it prints, after an exit code.
func inStore(g *harness.Graph, s *s3.Server, code int, args ...string) string {
	g.T.Helper()
	p := launchInStore(g, s, args...)
	if got := p.Wait(); got != code {
		g.T.Errorf("gobag %q: exit code %d, want %d\n%s", args, got, code, p.Out.String())
	}
	return p.Out.String()
}

// launchInStore starts a command on the bags of a store.
func launchInStore(g *harness.Graph, s *s3.Server, args ...string) *harness.Process {
	g.T.Helper()
	cmd := g.Command("gobag", args...)
	cmd.Env = append(cmd.Env, s.Environment()...)
	return g.Launch("gobag", cmd)
}

// TestPlaces: a prefix, a pattern and a directory stand for the same bags.
func TestPlaces(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	demo, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"r7/a.bag", "r7/b.bag", "r7/log.txt", "r8/c.bag"} {
		path := filepath.Join(s.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, demo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for place, want := range map[string]string{
		s.At("r7/"):                     "s3://bags/r7/a.bag s3://bags/r7/b.bag",
		s.At("r7/*.bag"):                "s3://bags/r7/a.bag s3://bags/r7/b.bag",
		s.At("*/[ac].bag"):              "s3://bags/r7/a.bag s3://bags/r8/c.bag",
		"file://" + s.Dir + "/r7":       "file://" + s.Dir + "/r7/a.bag file://" + s.Dir + "/r7/b.bag",
		filepath.Join(s.Dir, "r7"):      s.Dir + "/r7/a.bag " + s.Dir + "/r7/b.bag",
		filepath.Join(s.Dir, "*/c.bag"): s.Dir + "/r8/c.bag",
	} {
		var got []string
		for line := range strings.Lines(inStore(g, s, 0, "info", place)) {
			if path, ok := strings.CutPrefix(line, "path:"); ok {
				got = append(got, strings.TrimSpace(path))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", place, got)
		}
	}
	for place, want := range map[string]string{
		s.At("r9/"):   "gobag: s3://bags/r9/: no bags there\n",
		s.At("r9/*"):  "gobag: s3://bags/r9/*: no such objects\n",
		s.At("r7/c["): "a [ without its ]",
		strings.Replace(s.At("r7/"), "//bags", "//nothing", 1): "make the bucket first",

		strings.Replace(s.At("r7/a.bag"), "//bags", "//nothing", 1): "gobag: s3://nothing/r7/a.bag: no such object: check the name, also that of the bucket\n",
	} {
		harness.Contains(t, inStore(g, s, 1, "info", place), want)
	}
}
