package faults_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

const blkio = "/sys/fs/cgroup/blkio" // of cgroup v1, which slows down what a process syncs itself

// slowDisk runs its arguments on a disk that nobody else sees and that takes 20 MB/s, and
// copies the bag that is there in the end. SIGINT goes to the program.
const slowDisk = `truncate -s 400M img && mkfs.ext4 -q img && mkdir slow kept || exit 99
cg=$BLKIO/gorosbag_$$
mkdir $cg || exit 99
tidy() { umount slow; rmdir $cg; }
trap tidy EXIT
mount -o loop img slow && dev=$(findmnt -no SOURCE slow) && echo "$(stat -Lc '%Hr:%Lr' $dev) 20000000" >$cg/blkio.throttle.write_bps_device || exit 99
cd slow
(sh -c 'echo $PPID' >$cg/cgroup.procs && exec "$@") & pid=$!
trap 'kill -INT $pid' INT
while kill -0 $pid; do wait $pid; code=$?; done 2>/dev/null
cp *.bag ../kept
cd ..
exit $code`

// TestCameraCostsNoIMUMessage: on a real disk that is too slow for a camera that floods, a
// slow topic beside it loses nothing, and what the camera loses is counted exactly.
func TestCameraCostsNoIMUMessage(t *testing.T) {
	t.Parallel()
	harness.Long(t, "takes seconds of processor time")
	if out, err := exec.Command("unshare", "-m", "sh", "-c", "losetup -f && test -w "+blkio+"/cgroup.procs").CombinedOutput(); err != nil {
		t.Skipf("no disk can be slowed down here: %v\n%s", err, out)
	}
	g := harness.NewGraph(t, "gomaster")
	const cameraBytes, imuBytes, imuMessages = 1 << 20, 320, 200
	// With --sync chunk the recorder waits for the disk and not for the page cache.
	rec := g.Command("gorecord", "/camera", "/imu", "-O", "out", "-b", "16", "--sync", "chunk", "--min-space=0")
	cmd := g.Command("/usr/bin/unshare", append([]string{"-m", "sh", "-c", slowDisk, "sh"}, rec.Args...)...)
	cmd.Env = append(cmd.Env, "BLKIO="+blkio)
	p := g.Launch("gorecord", cmd)
	testkit.AfterDeath("rmdir", fmt.Sprintf("%s/gorosbag_%d", blkio, cmd.Process.Pid))

	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Timeout)
	defer cancel()
	camera, imu := peers.Offer(ctx, g, "/camera"), peers.Offer(ctx, g, "/imu")
	stop, flooded := make(chan struct{}), make(chan error, 1)
	sent := 0
	go func() {
		flooded <- camera.Serve(ctx, cameraBytes, func(l *load.Link) (err error) {
			sent, err = l.Flood(1<<30, stop)
			return err
		})
	}()
	p.Printed("messages dropped")
	if err := imu.Pace(ctx, imuBytes, imuMessages, 10*time.Millisecond, func(int) {}); err != nil {
		t.Fatal(err)
	}
	close(stop)
	if err := <-flooded; err != nil { // it returns when all has been read
		t.Error(err)
	}
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 3 {
		t.Fatalf("exit code %d, want 3; it printed:\n%s", code, p.Out.String())
	}

	topics := bags.Read(t, filepath.Join(g.Dir, "kept", "out.bag"))
	if n := len(topics["/imu"].Messages); n != imuMessages {
		t.Errorf("%d of %d messages of the IMU", n, imuMessages)
	}
	for i, m := range topics["/imu"].Messages {
		if n := binary.LittleEndian.Uint32(m.Data[4:]); int(n) != i {
			t.Fatalf("message %d of the IMU at place %d", n, i)
		}
	}
	recorded := len(topics["/camera"].Messages)
	t.Logf("camera: %d published, %d recorded", sent, recorded)
	want := "lost: " + strconv.Itoa(sent-recorded) + " queue_full\n"
	if recorded == 0 || recorded == sent || !strings.Contains(p.Out.String(), want) {
		t.Errorf("camera: %d published, %d recorded, want %q in:\n%s", sent, recorded, want, p.Out.String())
	}
}
