package service_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestOwners: a recorder that runs as another user than the owner of its directory, as in a
// container with a bind mount, says which command helps; with that it records, and with
// --file-mode others can read the bags.
func TestOwners(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can start programs as other users")
	}
	const container, user = 65532, 1000
	g := harness.NewGraph(t, "gomaster")
	dir, err := os.MkdirTemp("/var/tmp", "gorosbag-owners-") //nolint:usetesting // the directories of tests are closed to other users
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	program := filepath.Join(dir, "gorecord")
	b, err := os.ReadFile(filepath.Join(harness.Bin(), "gorecord"))
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	as := func(uid, gid uint32, bags string, args ...string) *harness.Process {
		c := g.Command(program, args...)
		c.Dir = bags
		if c.SysProcAttr == nil {
			c.SysProcAttr = new(syscall.SysProcAttr)
		}
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
		return g.Launch("gorecord", c)
	}
	for name, tc := range map[string]struct {
		owner          int
		uid            uint32
		want, notWant  string
		afterwardsMode os.FileMode
	}{
		"of root":                {0, container, "belongs to user 0 and group 0, mode drwxr-xr-x, and this program is user 65532, group 65532. Run: chown 65532:65532 ", "or start this program as", 0o644},
		"of the user":            {user, container, "belongs to user 1000 and group 1000, mode drwxr-xr-x, and this program is user 65532, group 65532. Run: chown 65532:65532 ", "SELinux", 0o644},
		"of the user, as itself": {user, user, "", "", 0o640},
	} {
		bags := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		if err := os.Mkdir(bags, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(bags, tc.owner, tc.owner); err != nil {
			t.Fatal(err)
		}
		if tc.want != "" {
			p := as(tc.uid, tc.uid, bags, "/t", "-O", "x")
			code, out := p.Wait(), p.Out.String()
			if code != 1 || !strings.Contains(out, "no permission to write in .: "+bags+" "+tc.want+bags) || strings.Contains(out, tc.notWant) {
				t.Errorf("%s: exit code %d:\n%s", name, code, out)
			}
			if start := ", or start this program as user 1000:1000"; strings.Contains(out, start) != (tc.owner == user) {
				t.Errorf("%s:\n%s", name, out)
			}
			_, command, _ := strings.Cut(out, "Run: ")
			words := strings.Fields(command)
			if len(words) < 3 || words[0] != "chown" {
				t.Fatalf("%s: no command in\n%s", name, out)
			}
			if out, err := exec.Command("chown", words[1], strings.TrimRight(words[2], ".,")).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
		}
		args := []string{"/t", "-O", "x"}
		if tc.afterwardsMode == 0o644 {
			args = append(args, "--file-mode=0644")
		}
		p := as(tc.uid, tc.uid, bags, args...)
		p.Printed("Subscribing to")
		p.Stop()
		st, err := os.Stat(filepath.Join(bags, "x.bag"))
		if err != nil || st.Mode() != tc.afterwardsMode || st.Sys().(*syscall.Stat_t).Uid != tc.uid {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
}

// TestHostnameWithoutAddress: a ROS_HOSTNAME that means nothing is named at the start.
func TestHostnameWithoutAddress(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	g.Env = append(g.Env, "ROS_IP=", "ROS_HOSTNAME=no-such-robot.invalid")
	p := g.Start("gorecord", "/t", "-O", "x")
	p.Printed("cannot be resolved here")
	p.Printed("no-such-robot.invalid")
	peers.Subscribed(g, "/t") // a recording that the master never answered ends with another code
	p.Stop()
}

// TestAddressOfAnotherMachine: a ROS_IP that this machine does not have is named at the start, once.
func TestAddressOfAnotherMachine(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	g.Env = append(g.Env, "ROS_IP=10.99.99.99", "ROS_HOSTNAME=")
	for _, args := range [][]string{{"gorecord", "/t", "-O", "x"}, {"goplay", "--pause", bags.Demo(t)}} {
		p := g.Start(args[0], args[1:]...)
		p.Printed("none of this machine")
		g.Eventually(args[0]+" listens on all addresses", func() bool {
			got := listening(t, p.Cmd.Process.Pid)
			return len(got) == 2 && got[0] == "0.0.0.0" && got[1] == "0.0.0.0"
		})
		if args[0] == "gorecord" {
			peers.Subscribed(g, "/t") // as above
		} else {
			p.Printed("Waiting 0.2 seconds") // the master has answered
		}
		p.Stop()
		if n := strings.Count(p.Out.String(), "none of this machine"); n != 1 {
			t.Errorf("%s says so %d times", args[0], n)
		}
	}
}
