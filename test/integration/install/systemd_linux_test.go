package install_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// bootScript makes process 1 of new namespaces that of a Debian. What it changes is in
// memory and goes with the namespaces; the directory it is booted from stays as it is.
const bootScript = `set -e
base=$1 top=$2 deb=$3 bag=$4
mount -t tmpfs tmpfs "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/root"
cp "$deb" "$top/root/gorosbag.deb"
cp "$bag" "$top/root/demo.bag"
cd "$top/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys # those of the host
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for d in null zero full random urandom tty; do
	: >dev/$d
	mount --bind /dev/$d dev/$d
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
echo 127.0.0.1 localhost >etc/hosts
pivot_root . mnt
umount -l mnt
echo BOOTS
dpkg --install /gorosbag.deb
systemctl enable gorecord
cp /demo.bag /var/lib/gorecord/
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init >/dev/null 2>&1 </dev/null`

// machine is a Debian that runs, with systemd as its process 1, our package, a bag to play,
// and gorecord enabled.
type machine struct {
	t   *testing.T
	pid string // of its systemd, here
}

// newMachine boots one.
func newMachine(t *testing.T) *machine {
	t.Helper()
	d := newDebian(t)
	if _, err := os.Stat(filepath.Join(d.root, "lib/systemd/systemd")); err != nil {
		t.Skipf("no systemd to boot: %v", err)
	}
	deb := debianPackage(t)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 `).FindSubmatch(mounts)
	if found == nil {
		t.Skip("no cgroup2 is mounted, which systemd needs")
	}
	group := filepath.Join(string(found[1]), fmt.Sprintf("gorosbag-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("systemd cannot have a cgroup: %v", err)
	}
	testkit.AfterDeath("find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";")
	m := &machine{t: t}
	t.Cleanup(func() { removeGroups(t, group) })

	// The cgroup namespace begins where the process is that makes it.
	const enter = `echo $$ >"$1/cgroup.procs"; shift
exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child=KILL -- sh -c "$@"`
	cmd := exec.Command("sh", "-ec", enter, "sh", group, bootScript, "sh", d.root, t.TempDir(), deb, bags.Demo(t))
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	p := (&harness.Graph{T: t}).Launch("systemd", cmd)
	t.Cleanup(func() {
		if t.Failed() && m.pid != "" {
			log, _ := m.try("journalctl", "--no-pager", "--lines=300")
			t.Logf("%s", log)
		}
		if pid, err := strconv.Atoi(m.pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // and with it all of its processes
		} else {
			_ = cmd.Process.Kill() // it came nowhere
		}
		<-p.Exited
	})
	harness.Eventually(t, "the machine boots", func() bool {
		select {
		case <-p.Exited:
			if strings.Contains(p.Out.String(), "BOOTS") {
				t.Fatal("the machine ends at once")
			}
			t.Skipf("systemd cannot be booted here: %s", p.Out.String())
		default:
		}
		if !strings.Contains(p.Out.String(), "BOOTS") {
			return false
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		m.pid = strings.TrimSpace(string(children))
		if err != nil || m.pid == "" {
			t.Fatalf("unshare has no child: %v", err)
		}
		state, _ := m.try("systemctl", "is-system-running")
		return slices.Contains([]string{"starting", "running", "degraded"}, strings.TrimSpace(state))
	})
	return m
}

// removeGroups removes the cgroups that a systemd has made, the inner ones first.
func removeGroups(t *testing.T, group string) {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(group, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	for _, dir := range slices.Backward(dirs) {
		err = errors.Join(err, syscall.Rmdir(dir))
	}
	if err != nil {
		t.Errorf("cgroups: %v", err)
	}
}

// try runs a command in the machine, as its root.
func (m *machine) try(args ...string) (string, error) {
	cmd := exec.Command("nsenter", append([]string{"--all", "--target", m.pid}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *machine) run(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// write writes a file of the machine.
func (m *machine) write(path, text string) {
	m.t.Helper()
	path = filepath.Join("/proc", m.pid, "root", path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		m.t.Fatal(err)
	}
}

// overrides replaces what a unit is told until the next boot.
func (m *machine) overrides(unit, section string) {
	m.t.Helper()
	m.write("/run/systemd/system/"+unit+".service.d/test.conf", "[Service]\n"+section)
	m.run("systemctl", "daemon-reload")
}

// property returns what systemd knows of a unit.
func (m *machine) property(unit, name string) string {
	m.t.Helper()
	return strings.TrimSpace(m.run("systemctl", "show", "--value", "--property", name, unit))
}

// reaches waits until a property of a unit matches.
func (m *machine) reaches(unit, property, want string) {
	m.t.Helper()
	is := regexp.MustCompile("^(?:" + want + ")$")
	harness.Eventually(m.t, unit+": "+property+" is "+want, func() bool { return is.MatchString(m.property(unit, property)) })
}

// bags lists what is in a directory of the machine: name, owner, group and mode of each.
func (m *machine) bags(dir string) []string {
	m.t.Helper()
	return strings.Fields(m.run("find", dir, "-ignore_readdir_race", "-maxdepth", "1", "-type", "f", "-printf", "%f:%u:%g:%m\n"))
}

// checks that all bags are whole, and that there are as many that were mended.
func (m *machine) checks(dir string, mended int) {
	m.t.Helper()
	good := 0
	for _, file := range m.bags(dir) {
		name, rights, _ := strings.Cut(file, ":")
		switch {
		case name == "demo.bag" || strings.HasSuffix(name, ".gorecord"):
			continue
		case strings.HasSuffix(name, ".orig.active"):
			mended--
		case strings.HasSuffix(name, ".bag"):
			good++
			m.run("gobag", "check", filepath.Join(dir, name))
		default:
			m.t.Errorf("%s is left behind", name)
		}
		if rights != "gorosbag:gorosbag:640" {
			m.t.Errorf("%s is %s", name, rights)
		}
	}
	if good == 0 || mended != 0 {
		m.t.Errorf("%d good bags, %d more to mend, in %v", good, mended, m.bags(dir))
	}
}

// recording waits until a recorder writes, and what it writes grows.
func (m *machine) recording(unit string) {
	m.t.Helper()
	m.reaches(unit, "ActiveState", "active")
	m.reaches(unit, "StatusText", `recording \d+ topics?, \S+ MiB/s, 0 messages lost, [1-9]\S* [KM]iB in \S+\.bag`)
}

// probe is what a service must not be able to do. It prints what it can.
const probe = `
try() { what=$1; shift; "$@" >/dev/null 2>&1 && echo "$what"; }
for dir in . / /boot /etc /usr /var/lib /var/tmp /tmp /run /run/lock /root /home /dev /dev/shm; do
	try "writes to $dir" touch "$dir/probe"
done
try 'sees home directories' test -e /home/secret
try 'sees processes' test -e /proc/1/status
try 'makes namespaces' unshare --uts true
try 'mounts' mount --bind /mnt /mnt
try 'names the host' hostname probe
try 'makes cgroups' mkdir /sys/fs/cgroup/probe
try 'runs in real time' chrt --fifo 1 true
try 'runs before others' nice --adjustment=-20 grep -q -- -20 /proc/self/stat
try 'sends packets' perl -e 'socket(S, 17, 3, 0) or exit 1'
try 'is another user' perl -e '$< = $> = 12; exit($> != 12)'
try 'makes devices' mknod probe-null c 1 3
try 'makes programs for root' sh -c 'cp /bin/true probe-suid && chmod u+s probe-suid'
try 'is of another machine' setarch --addr-no-randomize true
true
`

// TestSystemd: under a real systemd the units do what docs/service.md says.
func TestSystemd(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const dir = "/var/lib/gorecord"

	// It was enabled. Without a master it waits, and says so, but records.
	m.reaches("gorecord", "StatusText", "waiting for the ROS master http://localhost:11311; recording 0 topics, .*")
	m.reaches("gorecord", "ActiveState", "activating")
	if state := m.property("multi-user.target", "ActiveState"); state != "inactive" {
		t.Errorf("without a master multi-user.target is %s, unlike docs/service.md", state)
	}
	m.sandboxed()

	// A call that the filter does not let pass is the end of a program from here on.
	const strict = "SystemCallErrorNumber=kill\nRestartSec=100ms\n"
	for _, unit := range []string{"gorecord", "gorecord@other", "goplay"} {
		m.overrides(unit, strict)
	}
	m.run("systemctl", "restart", "--no-block", "gorecord")
	m.run("systemd-run", "--quiet", "--unit=gomaster", "--setenv=ROS_IP=127.0.0.1", "gomaster")
	m.run("systemctl", "start", "goplay")
	m.reaches("goplay", "StatusText", "playing, .* 0 messages dropped")
	m.recording("gorecord")
	if _, err := m.try("prlimit", "--nice=30:30", "true"); err == nil { // with CAP_SYS_RESOURCE, which few containers have
		proc := "/proc/" + m.property("goplay", "MainPID")
		if nice := m.run("sh", "-c", "awk '{print $19}' "+proc+"/task/*/stat"); !strings.Contains(nice, "-10\n") {
			t.Errorf("no thread of goplay runs before others: nice %q", nice)
		}
		if limits := m.run("cat", proc+"/limits"); !regexp.MustCompile(`Max open files +65536 `).MatchString(limits) {
			t.Errorf("limits of goplay:\n%s", limits)
		}
	}
	if out := m.run("systemctl", "is-system-running", "--wait"); out != "running\n" {
		t.Errorf("the system is %s", out)
	}

	// Several recorders, one of them with all that opens sockets and threads, elsewhere.
	m.run("install", "-d", "-o", "gorosbag", "/data", "/data/store")
	m.overrides("gorecord@other", strict+"ReadWritePaths=/data\n")
	m.write("/etc/gorecord/other.yaml", "all: true\nrecover: true\nhttp: 127.0.0.1:9999\nupload: file:///data/store\noutput_prefix: /data/other\n"+
		"lz4: true\nsync: chunk\nros_master_uri: http://localhost:11311\n")
	m.run("systemctl", "start", "gorecord@other")
	m.recording("gorecord@other")
	m.run("systemctl", "stop", "gorecord@other")
	m.checks("/data", 0)

	// Killed, it is started again and mends what it left. So it is when it hangs.
	m.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "gorecord")
	m.reaches("gorecord", "NRestarts", "1")
	m.mended(dir, 1)
	m.recording("gorecord")
	m.overrides("gorecord", strict+"WatchdogSec=10\n")
	m.run("systemctl", "restart", "gorecord")
	m.recording("gorecord")
	m.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", "gorecord")
	m.reaches("gorecord", "NRestarts", "1")
	m.mended(dir, 2)
	m.recording("gorecord")
	if log := m.run("journalctl", "--no-pager", "--unit=gorecord"); !strings.Contains(log, "Watchdog timeout") {
		t.Errorf("started again, but not by the watchdog:\n%s", log)
	}

	// An upgrade leaves it alone. Stopped, it leaves whole bags.
	before := m.property("gorecord", "MainPID")
	m.run("dpkg", "--install", "/gorosbag.deb")
	if after := m.property("gorecord", "MainPID"); after != before || m.property("gorecord", "NeedDaemonReload") != "no" {
		t.Errorf("an upgrade of the package: process %s before, %s after", before, after)
	}
	m.run("systemctl", "stop", "gorecord")
	m.checks(dir, 2)
	if state := m.property("gorecord", "ActiveState"); state != "inactive" {
		t.Errorf("stopped, gorecord is %s", state)
	}

	// A player that crashes is started again, one that finds no bag is not.
	m.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "goplay")
	m.reaches("goplay", "NRestarts", "1")
	m.reaches("goplay", "ActiveState", "active")
	m.write("/etc/default/goplay", "GOPLAY_BAGS=missing.bag\n")
	m.run("mv", dir+"/demo.bag", "/")
	if out, err := m.try("systemctl", "restart", "goplay"); err == nil {
		t.Errorf("goplay starts without a bag: %s", out)
	}
	if state := m.property("goplay", "ActiveState") + " " + m.property("goplay", "ExecMainStatus"); state != "failed 1" {
		t.Errorf("goplay without a bag is %s", state)
	}

	// To remove the package ends the services and leaves the bags alone.
	m.run("systemctl", "start", "gorecord")
	m.run("dpkg", "--purge", "gorosbag")
	left := m.bags(dir)
	if out := m.run("systemctl", "list-units", "--all", "--plain", "--no-legend", "gorecord*"); out != "" {
		t.Errorf("units are left behind: %s", out)
	}
	if slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, ".bag.active:") }) || len(left) < 5 {
		t.Errorf("what is left: %q", left)
	}
	for _, denied := range []string{"not permitted", "ermission denied", "ead-only file system", "SIGSYS", "status=31"} {
		if log, _ := m.try("journalctl", "--no-pager", "--unit=go*", "--grep="+denied); strings.Contains(log, denied) {
			t.Errorf("denied:\n%s", log)
		}
	}
}

// mended waits until as many bags of crashed recorders are whole again.
func (m *machine) mended(dir string, n int) {
	m.t.Helper()
	harness.Eventually(m.t, fmt.Sprintf("%d bags are mended", n), func() bool {
		return strings.Count(strings.Join(m.bags(dir), "\n"), ".orig.active:") == n
	})
}

// sandboxed runs the probe as it is for all programs, and then for the services: as root,
// so that it is the sandbox that holds, and not the rights of files.
func (m *machine) sandboxed() {
	m.t.Helper()
	m.write("/home/secret", "")
	m.write("/probe.sh", probe)
	outside := strings.Split(strings.TrimSpace(m.run("sh", "/probe.sh")), "\n")
	if len(outside) < 20 { // all 27, with all rights here
		m.t.Errorf("the probe proves little: outside it can do only %q", outside)
	}
	m.run("sh", "-c", "umount /mnt; rmdir /sys/fs/cgroup/probe")
	for unit, want := range map[string][]string{
		"gorecord@probe": {"writes to ."},
		"goplay":         {"writes to /var/tmp", "writes to /tmp"}, // of its own
	} {
		m.overrides(unit, "Type=oneshot\nExecStart=\nExecStart=sh /probe.sh\nUser=root\nRestart=no\n")
		m.run("systemctl", "start", unit)
		got := strings.Split(strings.TrimSpace(m.run("journalctl", "--no-pager", "--output=cat", "_COMM=sh", "--unit="+unit)), "\n")
		if d := cmp.Diff(want, got); d != "" {
			m.t.Errorf("%s can do what it must not (-want +got):\n%s", unit, d)
		}
	}
}
