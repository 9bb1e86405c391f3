package install_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// maxImageBytes is what an image may hold, unpacked.
const maxImageBytes = 28e6 // ADR 0038

// images builds the images once, under a tag of this run, and returns the tag.
var images = sync.OnceValues(func() (tag string, err error) {
	tag = fmt.Sprintf("test-%d", os.Getpid())
	testkit.AfterDeath("sh", "-c", `docker images -q "gorosbag/*:$1" | xargs -r docker rmi -f`, "sh", tag)
	out, err := exec.Command("make", "-C", "../../..", "image", "IMAGE_TAG="+tag, "IMAGE_DIR="+filepath.Join(harness.RunDir(), "image")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make image: %w\n%s", err, out)
	}
	return tag, nil
})

// removeImages takes the images of this run off the engine.
func removeImages() {
	if tag := fmt.Sprintf("test-%d", os.Getpid()); exec.Command("docker", "image", "inspect", "gorosbag/gorecord:"+tag).Run() == nil {
		for _, name := range []string{"demo", "goplay", "gorecord", "gobag", "gomaster"} {
			_ = exec.Command("docker", "rmi", "gorosbag/"+name+":"+tag).Run() // a leftover does no harm
		}
	}
}

// dropProject removes what compose has made under a label.
const dropProject = `docker ps -aq --filter "$1" | xargs -r docker rm -fv
docker network ls -q --filter "$1" | xargs -r docker network rm
docker volume ls -q --filter "$1" | xargs -r docker volume rm`

// composition is docker-compose.yml, up under a name of its own.
type composition struct {
	t       *testing.T
	project string
	command []string // docker-compose, or docker compose
	env     []string
}

func newComposition(t *testing.T, env ...string) *composition {
	t.Helper()
	harness.Long(t, "builds images and starts containers, for a minute or two")
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		t.Skipf("no Docker engine runs: %v: %.200s", err, out)
	}
	c := &composition{t: t, command: []string{"docker", "compose"}}
	if exec.Command("docker", "compose", "version").Run() != nil {
		if _, err := exec.LookPath("docker-compose"); err != nil {
			t.Skip("a Docker engine runs, but neither docker compose nor docker-compose is installed")
		}
		c.command = []string{"docker-compose"}
	}
	tag, err := images()
	if err != nil {
		t.Fatal(err)
	}
	c.project = fmt.Sprintf("gorosbag%d%s", os.Getpid(), strings.ToLower(t.Name()[strings.LastIndexAny(t.Name(), "/_")+1:]))
	testkit.AfterDeath("sh", "-c", dropProject, "sh", "label=com.docker.compose.project="+c.project)
	// For tests, GOROSBAG_BAGS names bags to read; the composition would record beside those.
	c.env = append(append(os.Environ(), "GOROSBAG_VERSION="+tag, "GOROSBAG_BAGS="), env...)
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := c.try("logs", "--no-color", "--tail=60")
			t.Logf("%s", logs)
		}
		if out, err := c.try("--profile", "demo", "--profile", "ros", "down", "-v", "-t", "5"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return c
}

func (c *composition) try(args ...string) (string, error) {
	line := append(append([]string{}, c.command[1:]...), "-f", "../../../docker-compose.yml", "-p", c.project)
	cmd := exec.Command(c.command[0], append(line, args...)...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *composition) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("compose %v: %v\n%s", args, err, out)
	}
	return out
}

// container returns the ID of a service's container, also when it has ended.
func (c *composition) container(service string) string {
	c.t.Helper()
	out := docker(c.t, "ps", "-aq", "--filter", "label=com.docker.compose.project="+c.project, "--filter", "label=com.docker.compose.service="+service)
	id, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if id == "" {
		c.t.Fatalf("no container of %s", service)
	}
	return id
}

// inspect returns one value of what the engine knows of a service's container.
func (c *composition) inspect(service, format string) string {
	c.t.Helper()
	return strings.TrimSpace(docker(c.t, "inspect", "--format", format, c.container(service)))
}

// reaches waits until a container is as it should be.
func (c *composition) reaches(service, format, want string) {
	c.t.Helper()
	harness.Eventually(c.t, service+" is "+want, func() bool { return c.inspect(service, format) == want })
}

// logged waits until the log of a service holds a text.
func (c *composition) logged(service, text string) {
	c.t.Helper()
	harness.Eventually(c.t, service+" logs "+text, func() bool { return strings.Contains(c.logs(service), text) })
}

func (c *composition) logs(service string) string {
	out, _ := exec.Command("docker", "logs", c.container(service)).CombinedOutput()
	return string(out)
}

// bags copies the volume and returns the files on it.
func (c *composition) bags() (files []string) {
	c.t.Helper()
	dir := c.t.TempDir()
	docker(c.t, "cp", c.container("recorder")+":/bags", dir)
	files, err := filepath.Glob(filepath.Join(dir, "bags", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == ".robot.gorecord" })
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("docker", args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("docker %v: %v\n%s", args, err, stderr.String())
	}
	return stdout.String()
}

const (
	state   = "{{.State.Status}}"
	health  = "{{.State.Health.Status}}"
	endCode = "{{.State.ExitCode}}"
)

// sameAsDemo compares a recording of the demo with it, without the topics of the nodes that
// took part.
func sameAsDemo(t *testing.T, path string) {
	t.Helper()
	r := bags.SameTopics(t, bags.Demo(t), path, func(c *rosbag.Connection) bool {
		return !strings.HasPrefix(c.Topic, "/rosout") && !strings.HasSuffix(c.Topic, "/status") && c.Topic != note.MarksTopic // of topics that fall silent
	})
	if r.Compared != 2163 {
		t.Errorf("%d messages compared of 2163", r.Compared)
	}
}

// checkBags runs our check, and stock's reader where it is, over closed bags.
func checkBags(t *testing.T, files []string) {
	t.Helper()
	for _, f := range files {
		if filepath.Ext(f) != ".bag" {
			t.Errorf("%s is on the volume", filepath.Base(f))
			continue
		}
		if out, err := exec.Command(filepath.Join(harness.Bin(), "gobag"), "check", f).CombinedOutput(); err != nil {
			t.Errorf("gobag check: %v\n%s", err, out)
		}
		if harness.ROSMissing() {
			continue
		}
		stock := exec.Command("/usr/bin/rosbag", "info", f)
		stock.Env = append(os.Environ(), "PATH=/usr/bin:"+os.Getenv("PATH"))
		if out, err := stock.CombinedOutput(); err != nil || !strings.Contains(string(out), "/odom") {
			t.Errorf("rosbag info: %v\n%s", err, out)
		}
	}
}

// TestComposeDemo: docker compose --profile demo up ends with a good bag on the volume.
func TestComposeDemo(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	for _, program := range []string{"gorecord", "goplay", "gomaster", "gobag"} {
		size := docker(t, "image", "inspect", "--format", "{{.Size}}", "gorosbag/"+program+":"+tagOf(c))
		if n, err := strconv.ParseFloat(strings.TrimSpace(size), 64); err != nil || n > maxImageBytes {
			t.Errorf("image of %s: %s bytes (%v), at most %.0f", program, strings.TrimSpace(size), err, maxImageBytes)
		}
	}
	c.run("--profile", "demo", "up", "-d")
	c.reaches("player", state, "exited")
	if code := c.inspect("player", endCode); code != "0" {
		t.Errorf("goplay: exit code %s\n%s", code, c.logs("player"))
	}
	c.reaches("master", health, "healthy")
	c.reaches("recorder", health, "healthy")
	c.run("stop", "recorder")
	code, logs := c.inspect("recorder", endCode), c.logs("recorder")
	// A master that stands still while goplay ends does not learn of it. Then gorecord looks for
	// publishers that are listed, and rightly tells that the links are lost.
	listed := strings.Contains(logs, "publisher is listed but not reached") && strings.Contains(logs, "lost: none")
	if code != "0" && (code != "3" || !listed) {
		t.Errorf("gorecord: exit code %s\n%s\ngoplay:\n%s", code, logs, c.logs("player"))
	}
	files := c.bags()
	checkBags(t, files)
	if len(files) != 1 {
		t.Fatalf("%v on the volume, want one bag", files)
	}
	sameAsDemo(t, files[0])
}

func tagOf(c *composition) string {
	for _, e := range c.env {
		if tag, ok := strings.CutPrefix(e, "GOROSBAG_VERSION="); ok {
			return tag
		}
	}
	return ""
}

// loop replaces the player of the demo by one that does not end.
func (c *composition) loop() {
	c.t.Helper()
	id := docker(c.t, "run", "-d", "--network", c.project+"_default", "--name", c.project+"_loop", "--hostname", "robot", "--network-alias", "robot",
		"-e", "ROS_MASTER_URI=http://master:11311", "-e", "ROS_HOSTNAME=robot", "gorosbag/demo:"+tagOf(c), "/demo.bag", "--loop")
	c.t.Cleanup(func() { docker(c.t, "rm", "-f", strings.TrimSpace(id)) }) // before down, which removes the network
	c.logged("recorder", `"/odom"`)
}

// active returns how much the recorder has written to the file that is open.
func (c *composition) active() (size int64) {
	for _, f := range c.bags() {
		if info, err := os.Stat(f); err == nil && strings.HasSuffix(f, ".active") {
			size = info.Size()
		}
	}
	return size
}

// growing waits until the recorder has written more.
func (c *composition) growing() {
	c.t.Helper()
	before := c.active()
	harness.Eventually(c.t, "the bag grows", func() bool { return c.active() > before })
}

// recorded waits until messages of a topic are in the file that is open.
func (c *composition) recorded(topic string) {
	c.t.Helper()
	harness.Eventually(c.t, topic+" is in the bag", func() bool {
		for _, f := range c.bags() {
			// It has no index yet, and may end in a torn record: the exit code says so.
			out, _ := exec.Command(filepath.Join(harness.Bin(), "gobag"), "info", f).Output()
			if strings.HasSuffix(f, ".active") && strings.Contains(string(out), topic) {
				return true
			}
		}
		return false
	})
}

// TestComposeStop: docker stop in the middle of a recording closes the bag in time.
func TestComposeStop(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	c.run("up", "-d")
	c.loop()
	c.recorded("/odom")
	began := time.Now()
	docker(t, "stop", "-t", "30", c.container("recorder"))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("docker stop took %v", took)
	}
	if code := c.inspect("recorder", endCode); code != "0" {
		t.Errorf("gorecord: exit code %s", code)
	}
	checkBags(t, c.bags())
}

// TestComposeKilledRecorder: a killed recorder loses at most its last second, and the next
// one mends what it left.
func TestComposeKilledRecorder(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	c.run("up", "-d")
	c.loop()
	c.recorded("/odom")
	docker(t, "kill", c.container("recorder"))
	c.run("up", "-d", "recorder")
	c.logged("recorder", "Recovered")
	docker(t, "stop", "-t", "30", c.container("recorder"))
	var bags []string
	for _, f := range c.bags() {
		if !strings.HasSuffix(f, ".orig.active") { // what the mended bag was made of
			bags = append(bags, f)
		}
	}
	checkBags(t, bags)
	if len(bags) != 2 {
		t.Errorf("%v on the volume, want the mended bag and the next one", bags)
	}
}

// TestComposeMasterAway: without its master the recorder goes on, and with the next one it
// finds new publishers.
func TestComposeMasterAway(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	c.run("up", "-d")
	c.loop()
	c.recorded("/odom")
	c.run("stop", "-t", "5", "master")
	c.growing() // links of TCPROS need no master
	c.run("start", "master")
	docker(t, "run", "--rm", "--network", c.project+"_default", "--hostname", "late", "--network-alias", "late",
		"-e", "ROS_MASTER_URI=http://master:11311", "-e", "ROS_HOSTNAME=late", "gorosbag/demo:"+tagOf(c),
		"/demo.bag", "--prefix", "/late", "--wait-for-subscribers", "--rate", "4")
	docker(t, "stop", "-t", "30", c.container("recorder"))
	files := c.bags()
	checkBags(t, files)
	late := 0
	for name, topic := range bags.Read(t, files[0]) {
		if strings.HasPrefix(name, "/late/") {
			late += len(topic.Messages)
		}
	}
	if late != 2163 {
		t.Errorf("%d messages of the publisher that came after the master, want 2163", late)
	}
}

// TestComposeRoscore: the profile ros, with an image made of Debian's packages.
func TestComposeRoscore(t *testing.T) {
	t.Parallel()
	harness.Long(t, "builds an image of Debian with roscore, for a minute")
	harness.Need(t, "debootstrap", "--version")
	image := fmt.Sprintf("gorosbag-test-roscore:%d", os.Getpid())
	testkit.AfterDeath("docker", "rmi", "-f", image)
	c := newComposition(t, "ROS_MASTER_URI=http://roscore:11311", "ROS_IMAGE="+image)
	root, err := debianRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := roscoreImage(root, filepath.Join(t.TempDir(), "rootfs"), image); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", image).Run() })
	c.run("--profile", "ros", "--profile", "demo", "up", "-d", "roscore", "recorder", "player")
	c.reaches("player", state, "exited")
	if code := c.inspect("player", endCode); code != "0" {
		t.Errorf("goplay: exit code %s\n%s", code, c.logs("player"))
	}
	c.run("stop", "recorder")
	files := c.bags()
	checkBags(t, files)
	sameAsDemo(t, files[0])
}

// roscoreImage makes an image of roscore, from packages only: in dir, from a copy of the
// Debian in root.
func roscoreImage(root, dir, image string) error {
	debianInUse.Lock()
	out, err := exec.Command("cp", "-a", root, dir).CombinedOutput()
	debianInUse.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %.2000s", err, out)
	}
	const build = `set -e
chroot "$1" apt-get install -y --no-install-recommends python3-roslaunch python3-rosmaster rosout
chroot "$1" apt-get clean
tar -C "$1" --exclude=./proc/* --exclude=./sys/* -c . | docker import - "$2"`
	if out, err = exec.Command("sh", "-c", build, "sh", dir, image).CombinedOutput(); err != nil {
		return errors.Join(err, fmt.Errorf("%.2000s", out))
	}
	return nil
}
