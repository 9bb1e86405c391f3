package faults_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

// smallGroup makes a control group of version 1 that may have so much memory, and one in
// it that has no limit of its own, which it returns.
func smallGroup(t *testing.T, limit int) string {
	t.Helper()
	const mounted = "/sys/fs/cgroup/memory"
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	_, own, ok := strings.Cut(string(groups), ":memory:")
	if !ok {
		t.Skip("there are no memory control groups of version 1")
	}
	own, _, _ = strings.Cut(own, "\n")
	outer := filepath.Join(mounted, own)
	if _, err := os.Stat(filepath.Join(outer, "memory.limit_in_bytes")); err != nil {
		outer = mounted // in a container
	}
	outer, err = os.MkdirTemp(outer, "gorosbag_") //nolint:usetesting // it is no directory of a disk
	if err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	inner := filepath.Join(outer, "inner")
	t.Cleanup(func() {
		for _, dir := range []string{inner, outer} {
			if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}
	})
	if err := os.WriteFile(filepath.Join(outer, "memory.limit_in_bytes"), []byte(strconv.Itoa(limit)), 0o600); err != nil {
		t.Skipf("memory cannot be limited: %v", err)
	}
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	return inner
}

// TestSmallContainer (D18): where a control group allows less memory than the buffer would
// take, that is made to fit. More than the disk takes is dropped and counted then, instead
// of the kernel's killing the recorder.
func TestSmallContainer(t *testing.T) {
	t.Parallel()
	harness.Long(t, "takes 15 s and much of the machine")
	if out, err := exec.Command("unshare", "-m", "sh", "-c", "losetup -f && test -w "+blkio+"/cgroup.procs").CombinedOutput(); err != nil {
		t.Skipf("no disk can be slowed down here: %v\n%s", err, out)
	}
	const limit = 128 << 20
	group := smallGroup(t, limit)
	g := harness.NewGraph(t, "gomaster")
	rec := g.Command("gorecord", "/camera", "-O", "out", "--sync", "chunk", "--min-space=0")
	join := []string{"-m", "sh", "-c", slowDisk, "sh", "sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group}
	cmd := g.Command("/usr/bin/unshare", append(join, rec.Args...)...)
	cmd.Env = append(cmd.Env, "BLKIO="+blkio)
	p := g.Launch("gorecord", cmd)

	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Timeout)
	defer cancel()
	camera := peers.Offer(ctx, g, "/camera")
	const cameraBytes, frames = 1 << 20, 1500
	sent := 0
	err := camera.Serve(ctx, cameraBytes, func(l *load.Link) (err error) { // it returns when all has been read
		sent, err = l.Flood(frames, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Printed("messages dropped")
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 3 {
		t.Fatalf("exit code %d, want 3; it printed:\n%s", code, p.Out.String())
	}
	most, err := os.ReadFile(filepath.Join(filepath.Dir(group), "memory.max_usage_in_bytes"))
	if err != nil {
		t.Error(err)
	}
	recorded := len(bags.Read(t, filepath.Join(g.Dir, "kept", "out.bag"))["/camera"].Messages)
	t.Logf("%d published, %d recorded; at most %s bytes of memory, page cache included", sent, recorded, bytes.TrimSpace(most))
	harness.Contains(t, p.Out.String(), `the buffer is made smaller`, `"limit": "128 MiB", "buffer": "64 MiB"`, "lost: "+strconv.Itoa(sent-recorded)+" queue_full\n")
	if recorded == 0 || recorded == sent {
		t.Errorf("%d published, %d recorded", sent, recorded)
	}
}

// TestPlayInSmallContainer: what play reads ahead and unpacks fits a container, instead of the kernel's killing it.
func TestPlayInSmallContainer(t *testing.T) {
	t.Parallel()
	harness.Long(t, "unpacks 200 MB with bz2")
	group := smallGroup(t, 96<<20)
	g := harness.NewGraph(t, "gomaster")
	filling := strings.Repeat("x", 250_000)
	var bag []bags.StringMessage
	for i := range 800 {
		bag = append(bag, bags.StringMessage{Topic: "/t", Node: "/n", At: time.Duration(i) * time.Millisecond, Text: filling})
	}
	bags.Make(g, "t.bag", bag...)
	g.Run("gobag", "compress", "-q", "t.bag")
	play := g.Command("goplay", "t.bag", "--immediate")
	join := []string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group}
	p := g.Launch("goplay", g.Command("/bin/sh", append(join, play.Args...)...))
	p.Ended(0, "lost: none")
}
