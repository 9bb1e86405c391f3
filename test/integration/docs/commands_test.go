//go:build unix

package docs_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// elsewhere are beginnings of commands that this package does not run, and why.
var elsewhere = []struct{ beginning, why string }{
	{"docker compose", "TestComposeDemo and others in test/integration/install"},
	{"systemctl", "TestSystemd in test/integration/install"},
	{"apt install", "TestPackage in test/integration/install"},
	{"editor", "for people"},
	{"export", "the credentials of a store"},
	{"rosservice", "needs ROS; test/integration/record and play call the services"},
	{"rostopic", "needs ROS; test/integration/record and play publish the commands"},
	{"gobag decrypt", "needs a GPG key; test/integration/bag"},
	{"gobag fix", "needs definitions; cmd/bag and test/integration/bag"},
	{"gorecord preflight", "needs topics; test/integration/record"},
	{"gorecord expect", "writes a configuration; test/integration/record"},
}

// Every command of README is run.
func TestREADMECommands(t *testing.T) {
	t.Parallel()
	test := commandTest{made: makeBags(t)}
	for _, command := range commands(t, "README.md") {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			test.run(t, command)
		})
	}
}

// Commands of gobag in docs are run, too. Of those of gorecord and goplay it is only checked that
// they accept their options.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs each command of the pages; TestREADMECommands runs those of README")
	test := commandTest{made: makeBags(t), onlyOptions: true}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, command := range commands(t, filepath.Join("docs", filepath.Base(page))) {
			t.Run(filepath.Base(page)+" "+command, func(t *testing.T) {
				t.Parallel()
				test.run(t, command)
			})
		}
	}
}

var (
	comment = regexp.MustCompile(`\s+# .*$`)
	program = regexp.MustCompile(`^([A-Z_]+=(\$\([^)]*\)|\S+) )*([a-z]+)`)
	ours    = []string{"gorecord", "goplay", "gobag", "gomaster"}
)

// commands returns the lines of those blocks of a page that are for a shell: they have no language
// and begin with a command.
func commands(t *testing.T, page string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, block := range regexp.MustCompile("(?ms)^```\n(.*?)^```").FindAllSubmatch(b, -1) {
		lines := strings.Split(strings.TrimSpace(string(block[1])), "\n")
		if !known(lines[0]) {
			continue
		}
		for _, line := range lines {
			all = append(all, comment.ReplaceAllString(line, ""))
		}
	}
	if page == "README.md" && len(all) < 10 {
		t.Fatalf("only %d commands in %s: %q", len(all), page, all)
	}
	return all
}

// known reports whether a line is a command that run knows.
func known(line string) bool {
	found := program.FindStringSubmatch(line)
	return found != nil && (found[3] == "make" || slices.Contains(ours, found[3]) || why(line) != "")
}

// why returns why a command is not run, or nothing.
func why(command string) string {
	for _, e := range elsewhere {
		if strings.HasPrefix(command, e.beginning) {
			return e.why
		}
	}
	return ""
}

// commandTest runs commands of pages.
type commandTest struct {
	made        string // directory with the bags that pages speak of
	onlyOptions bool   // of gorecord and goplay
}

func (c commandTest) run(t *testing.T, command string) {
	t.Helper()
	if !known(command) {
		t.Fatal("not a command that this test can run: see elsewhere")
	}
	name := program.FindStringSubmatch(command)[3]
	switch store := strings.Contains(command, "s3://"); {
	case why(command) != "":
		t.Skip(why(command))
	case name == "make":
		// .ci/run makes them. Here, make test would run this test.
		target := command[strings.LastIndex(command, " ")+1:]
		if out, err := testkit.CombinedOutput(exec.Command("make", "-C", root, "-n", target)); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	case store && name == "gobag":
		t.Skip("needs a store; test/integration/bag")
	case store:
		c.onlyOptions = true // uploads: test/integration/service
	}
	g := harness.NewGraph(t, "gomaster")
	g.Env = append(g.Env, "PATH="+harness.Bin()+":"+os.Getenv("PATH"), "GORECORD_MIN_SPACE=100M")
	if err := os.CopyFS(g.Dir, os.DirFS(c.made)); err != nil {
		t.Fatal(err)
	}
	command = here(t, command)
	start := func(more string) *harness.Process {
		return g.Launch(name, g.Command("bash", "-c", command+more))
	}
	switch {
	case strings.HasPrefix(command, "gobag view "):
		p := start("")
		p.Printed("http://127.0.0.1:")
		p.Stop()
	case strings.HasPrefix(command, "gobag find "):
		p := start("")
		if code := p.Wait(); code != 0 && (code != 1 || !strings.Contains(p.Out.String(), "matches; --allow-empty allows that")) {
			t.Errorf("exit code %d:\n%s", code, p.Out.String())
		}
	case name == "gobag", strings.Contains(command, " --print-config"), strings.Contains(command, " --check-config"):
		start("").Ended(0)
	case name == "gomaster":
		p := start("")
		p.Printed("ROS_MASTER_URI")
		p.Stop()
	case c.onlyOptions:
		start(" --print-config").Ended(0, "ros_master_uri:")
	case name == "gorecord":
		for _, written := range []string{"run1.bag", "run1.bag.active"} {
			if err := os.Remove(filepath.Join(g.Dir, written)); err != nil {
				t.Fatal(err)
			}
		}
		g.Start("goplay", "--loop", "--quiet", bags.Demo(t))
		p := start("")
		p.Printed("Subscribing to")
		p.Stop()
	case strings.Contains(command, " --loop"):
		p := start(" --quiet")
		p.Printed(" done.")
		p.Stop()
	default:
		start("").Ended(0)
	}
}

// here returns a command with the ports and files of this test instead of those that a page names.
func here(t *testing.T, command string) string {
	t.Helper()
	packaging, err := filepath.Abs(filepath.Join(root, "packaging"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ old, new string }{
		{` --embedded-master\b`, " --embedded-master=127.0.0.1:" + harness.FreePort(t)},
		{`gomaster -p \d+`, "gomaster -p " + harness.FreePort(t)},
		{` --http 127\.0\.0\.1:\d+`, " --http 127.0.0.1:" + harness.FreePort(t)},
		{`/etc/gorecord/\w+\.yaml`, packaging + "/gorecord.yaml"},
	} {
		command = regexp.MustCompile(r.old).ReplaceAllLiteralString(command, r.new)
	}
	return strings.ReplaceAll(command, " --open", "") // there is no desktop
}

// makeBags records the demo bag, with a mark after it, and returns a directory with that bag under
// the names of the pages.
func makeBags(t *testing.T) string {
	t.Helper()
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Record("-a", "--lz4", "-O", "run1", "--min-space=100M", "--http="+host)
	g.Run("goplay", bags.Demo(t), "--rate=8", "--wait-for-subscribers", "--overflow=block")
	r, err := http.Post("http://"+host+"/api/v1/mark", "application/json", strings.NewReader(`{"text": "door opened"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("no mark: %s", r.Status)
	}
	rec.Stop()
	g.Run("gobag", "convert", "run1.bag", "robot_ros2", "--to", "ros2")
	g.Run("gobag", "convert", "run1.bag", "robot.mcap")
	bag, err := os.ReadFile(filepath.Join(g.Dir, "run1.bag"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Rename(filepath.Join(g.Dir, "robot.mcap"), filepath.Join(dir, "robot.mcap")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "robot_ros2"), os.DirFS(filepath.Join(g.Dir, "robot_ros2"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "robot.yaml"), []byte("topics: [/imu/data]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run1.bag", "run1.bag.active", "copy.bag", "a.bag", "b.bag", "old.bag"} {
		if err := os.WriteFile(filepath.Join(dir, name), bag, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
