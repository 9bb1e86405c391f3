package install_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestUnits: systemd accepts the units as they are installed, but for where the programs are.
func TestUnits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
	}
	units, err := filepath.Glob("../../../packaging/systemd/*.service")
	if err != nil || len(units) < 3 {
		t.Fatalf("%v, %v", units, err)
	}
	for _, unit := range units {
		t.Run(filepath.Base(unit), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(unit)
			if err != nil {
				t.Fatal(err)
			}
			here := strings.ReplaceAll(string(text), "/usr/bin/go", harness.Bin()+"/go")
			if here == string(text) {
				t.Errorf("%s starts none of our programs", unit)
			}
			path := filepath.Join(t.TempDir(), filepath.Base(unit))
			if err := os.WriteFile(path, []byte(here), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestUnitsNameTheirNodes: a service has the same node at each start, with a name that ROS accepts, that no other unit has and
// that the file of variables replaces.
func TestUnitsNameTheirNodes(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`(?s)\nExecStart=[^\n]* __name:=\$\{NODE_NAME\}\n.*\nEnvironment=NODE_NAME=([a-z]+(?:_%i)?)\nEnvironmentFile=`)
	units := map[string]string{}
	for _, unit := range []string{"gorecord", "gorecord@", "goplay"} {
		text, err := os.ReadFile("../../../packaging/systemd/" + unit + ".service")
		if err != nil {
			t.Fatal(err)
		}
		switch found := named.FindSubmatch(text); {
		case found == nil:
			t.Errorf("%s names no node, or the file of variables does not replace the name", unit)
		case units[string(found[1])] != "":
			t.Errorf("%s and %s have the same node", unit, units[string(found[1])])
		default:
			units[string(found[1])] = unit
		}
	}
}

// TestUnitsAreAlike: the unit of one recorder and that of several differ in names only.
func TestUnitsAreAlike(t *testing.T) {
	t.Parallel()
	one, err := os.ReadFile("../../../packaging/systemd/gorecord.service")
	if err != nil {
		t.Fatal(err)
	}
	several, err := os.ReadFile("../../../packaging/systemd/gorecord@.service")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer(" (%i)", "", "etc/gorecord/%i", "etc/gorecord/gorecord", "gorecord/%i", "gorecord", "gorecord-%i", "gorecord", "gorecord_%i", "gorecord")
	if d := cmp.Diff(string(one), names.Replace(string(several))); d != "" {
		t.Errorf("(-gorecord.service +gorecord@.service):\n%s", d)
	}
}

// TestCompletions asks the shells that are installed, with the files of the package.
func TestCompletions(t *testing.T) {
	t.Parallel()
	for shell, ask := range map[string]string{
		"bash": `complete -C gorecord gorecord; COMP_LINE="gorecord --max-r" gorecord`,
		"fish": `sed s/PROGRAM/gorecord/g ../../../packaging/completions/fish | source; complete -C "gorecord --max-r"`,
		"zsh":  `compadd() { print -l -- $found }; words=(gorecord --max-r) CURRENT=2 service=gorecord; source ../../../packaging/completions/zsh`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not installed")
			}
			cmd := exec.CommandContext(t.Context(), path, "-c", ask)
			cmd.Env = append(os.Environ(), "PATH="+harness.Bin()+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "--max-rate\n" {
				t.Errorf("%v: %q", err, out)
			}
		})
	}
}

// debian is a Debian in a directory, with nothing but its essential packages, man and systemd.
type debian struct {
	t    *testing.T
	root string
}

// debianRoot makes one, once, or returns that of GOROSBAG_CHROOT.
var debianRoot = sync.OnceValues(func() (root string, err error) {
	if root := os.Getenv("GOROSBAG_CHROOT"); root != "" {
		return root, nil
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", errors.New("debootstrap is not installed (Debian: apt-get install debootstrap)")
	}
	root = filepath.Join(harness.RunDir(), "debian")
	// What a killed debootstrap has mounted there, so that the directory can be removed.
	testkit.AfterDeath("umount", "--lazy", filepath.Join(root, "proc"))
	testkit.AfterDeath("umount", "--lazy", filepath.Join(root, "sys"))
	out, err := exec.Command("debootstrap", "--variant=minbase", "--include=man-db,systemd-sysv", "bookworm", root).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("debootstrap: %w\n%.2000s", err, out[max(0, len(out)-2000):])
	}
	return root, nil
})

// debianInUse is held by the test that has the Debian.
var debianInUse sync.Mutex

// newDebian returns it, to one test at a time. Tests leave it as it was.
func newDebian(t *testing.T) *debian {
	t.Helper()
	harness.Long(t, "builds a package and installs Debian in a directory, for a minute")
	if os.Geteuid() != 0 {
		t.Skip("not root: chroot needs it")
	}
	debianInUse.Lock()
	t.Cleanup(debianInUse.Unlock)
	root, err := debianRoot()
	if err != nil {
		t.Skip(err)
	}
	return &debian{t, root}
}

// run runs a command in it.
func (d *debian) run(name string, args ...string) string {
	d.t.Helper()
	cmd := exec.Command("chroot", append([]string{d.root, name}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "MANPAGER=cat"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// files lists what a package may change, with the contents of small files.
func (d *debian) files() map[string]string {
	d.t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"etc", "usr", "opt", "var/lib"} {
		err := filepath.WalkDir(filepath.Join(d.root, dir), func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(path, d.root)
			if strings.HasPrefix(name, "/var/lib/dpkg") || strings.HasSuffix(name, "-") || name == "/etc/.pwd.lock" {
				return nil // the accounts of the package manager, and copies of /etc/passwd
			}
			all[name] = ""
			if strings.HasPrefix(name, "/etc/") && e.Type().IsRegular() {
				text, err := os.ReadFile(path)
				all[name] = string(text)
				return err
			}
			return nil
		})
		if err != nil {
			d.t.Fatal(err)
		}
	}
	return all
}

var errNoNfpm = errors.New("nfpm is not installed (make deb installs it in bin/tools)")

// nfpm finds the program that makes packages, as make deb installs it.
func nfpm() (string, error) {
	if path, err := exec.LookPath("nfpm"); err == nil {
		return path, nil
	}
	path, err := filepath.Abs("../../../bin/tools/nfpm")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", errNoNfpm
	}
	return path, nil
}

// built makes the package, once.
var built = sync.OnceValues(func() (path string, err error) {
	tool, err := nfpm()
	if err != nil {
		return "", err
	}
	build := exec.Command("../../../packaging/deb.sh", tool)
	build.Env = append(os.Environ(), "VERSION=1.2.3~test")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("deb.sh: %w\n%s", err, out)
	}
	found, err := filepath.Glob("../../../bin/deb/gorosbag_1.2.3~test_*.deb")
	if err != nil || len(found) != 1 {
		return "", errors.Join(err, fmt.Errorf("deb.sh made %v", found))
	}
	defer os.Remove(found[0])
	path = filepath.Join(harness.RunDir(), "gorosbag.deb")
	if out, err := exec.Command("cp", found[0], path).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// debianPackage returns the file.
func debianPackage(t *testing.T) string {
	t.Helper()
	path, err := built()
	switch {
	case errors.Is(err, errNoNfpm):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return path
}

// TestPackage: the package installs, its programs and pages are there, and to purge it
// leaves nothing behind but the bags.
func TestPackage(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	deb := debianPackage(t)
	inside := filepath.Join(d.root, "gorosbag.deb")
	if out, err := exec.Command("cp", deb, inside).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	defer os.Remove(inside)
	before := d.files()

	d.run("dpkg", "--install", "/gorosbag.deb")
	defer d.run("dpkg", "--purge", "gorosbag")
	for _, program := range []string{"gorecord", "goplay", "gobag", "gomaster"} {
		if out := d.run(program, "--version"); !strings.HasPrefix(out, program+" ") || !strings.Contains(out, "go1.") {
			t.Errorf("%s --version prints %q", program, out)
		}
		if out := d.run("man", program); !strings.Contains(out, "OPTIONS") {
			t.Errorf("man %s prints %.200q", program, out)
		}
	}
	if out := d.run("gorecord", "--config=/etc/gorecord/gorecord.yaml", "--print-config"); !strings.Contains(out, "/etc/gorecord/gorecord.yaml:") {
		t.Errorf("--print-config prints %.500q", out)
	}
	for _, name := range []string{"README.md", "docs/img/web.png", "docker-compose.yml", "packaging/prometheus/prometheus.yml", "packaging/grafana/gorosbag.json"} {
		d.run("test", "-f", "/usr/share/doc/gorosbag/"+name)
	}
	if out := d.run("stat", "--format=%U:%G", "/var/lib/gorecord"); out != "gorosbag:gorosbag\n" {
		t.Errorf("the bags' directory belongs to %s", out)
	}
	if out := d.run("dpkg-query", "--show", "--showformat=${Conffiles}", "gorosbag"); strings.Count(out, "/etc/gorecord/") != 2 {
		t.Errorf("configuration: %s", out)
	}

	bag := filepath.Join(d.root, "var/lib/gorecord/kept.bag")
	if err := os.WriteFile(bag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.run("dpkg", "--purge", "gorosbag")
	if _, err := os.Stat(bag); err != nil {
		t.Errorf("the bag is gone: %v", err)
	}
	d.run("getent", "passwd", "gorosbag")
	if err := os.Remove(bag); err != nil {
		t.Fatal(err)
	}
	d.run("dpkg", "--install", "/gorosbag.deb")
	wants := filepath.Join(d.root, "etc/systemd/system/multi-user.target.wants")
	if _, err := os.Stat(wants); err != nil {
		if err := os.MkdirAll(wants, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(wants)
		before["/etc/systemd/system/multi-user.target.wants"] = ""
	}
	for _, unit := range []string{"gorecord.service", "gorecord@robot.service"} { // as systemctl enable does
		if err := os.Symlink("/usr/lib/systemd/system/gorecord.service", filepath.Join(wants, unit)); err != nil {
			t.Fatal(err)
		}
	}
	d.run("install", "-d", "-o", "gorosbag", "/var/lib/gorecord/robot") // as systemd does for gorecord@robot
	d.run("touch", "/var/lib/gorecord/robot/.robot.gorecord")
	d.run("dpkg", "--purge", "gorosbag")
	after := d.files()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if was, ok := before[name]; !ok || was != after[name] {
			t.Errorf("%s is left behind, or changed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
}

// repack makes an older package of one, with other default configurations.
const repack = `
dpkg-deb --raw-extract "$1" /older
sed -i 's/^Version: .*/Version: 1.2.2/' /older/DEBIAN/control
for f in gorecord goplay; do echo '# older' >>/older/etc/gorecord/$f.yaml; done
dpkg-deb -Znone --build /older "$2"
rm -r /older`

// TestPackageUpgrade: an upgrade and a downgrade keep the configuration that was changed, the bags
// and what is enabled. A configuration that nobody changed becomes that of the package.
func TestPackageUpgrade(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	deb := debianPackage(t)
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(d.root, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	const config, link = "/etc/gorecord/gorecord.yaml", "/etc/systemd/system/multi-user.target.wants/gorecord.service"
	if out, err := exec.Command("cp", deb, filepath.Join(d.root, "gorosbag.deb")).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	defer d.run("rm", "-f", "/gorosbag.deb", "/older.deb")
	d.run("sh", "-ec", repack, "sh", "/gorosbag.deb", "/older.deb")

	d.run("dpkg", "--install", "/older.deb")
	defer d.run("dpkg", "--purge", "gorosbag")
	d.run("systemctl", "enable", "gorecord")
	d.run("sh", "-c", "echo 'require: true' >>"+config)
	d.run("touch", "/var/lib/gorecord/kept.bag")
	defer d.run("rm", "-f", "/var/lib/gorecord/kept.bag")
	changed := read(config)

	for _, step := range []struct{ file, version string }{{"/gorosbag.deb", "1.2.3~test"}, {"/older.deb", "1.2.2"}} {
		// Without this option dpkg asks which configuration to take.
		out := d.run("dpkg", "--force-confold", "--install", step.file)
		older := step.version == "1.2.2"
		if strings.Contains(out, "downgrading gorosbag") != older {
			t.Errorf("%s: %s", step.version, out)
		}
		if got := d.run("dpkg-query", "--show", "--showformat=${Version} ${db:Status-Abbrev}", "gorosbag"); got != step.version+" ii " {
			t.Errorf("%s: installed is %q", step.version, got)
		}
		if got := read(config); got != changed {
			t.Errorf("%s: the configuration is now\n%s", step.version, got)
		}
		for _, name := range []string{config + ".dpkg-dist", "/etc/gorecord/goplay.yaml"} {
			if got := read(name); strings.HasSuffix(got, "# older\n") != older {
				t.Errorf("%s: %s is of the other version:\n%s", step.version, name, got)
			}
		}
		d.run("test", "-L", link)
		d.run("test", "-e", "/var/lib/gorecord/kept.bag")
		if out := d.run("gorecord", "--config="+config, "--check-config"); out != "ok\n" {
			t.Errorf("%s: --check-config prints %q", step.version, out)
		}
	}
}
