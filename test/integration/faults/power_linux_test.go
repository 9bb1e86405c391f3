package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/load"
)

// powerCut runs its arguments on an ext4 of its own, cuts the power after a while, that
// is, makes the file system forget all that is not synced, and copies what is there
// after the next mount.
const powerCut = `mkdir mnt kept && truncate -s 256M d.img && mkfs.ext4 -qF d.img && mount -o loop d.img mnt && cd mnt || exit 99
"$@" &
pid=$!
until ls | grep -q active; do sleep 0.05; done
sleep "$AFTER"
touch ../cut
python3 -c 'import fcntl, os, struct; fcntl.ioctl(os.open(".", os.O_RDONLY), 0x8004587D, struct.pack("I", 2))' || exit 97
kill -9 $pid
wait
cd .. && umount mnt && mount -o loop d.img mnt && cp mnt/*.bag* kept || exit 98
umount mnt`

// TestPowerCutOnExt4: what was sent longer ago than the interval of syncs and flushes
// is there, and in order.
func TestPowerCutOnExt4(t *testing.T) {
	t.Parallel()
	harness.Long(t, "needs loop devices, and takes ten seconds")
	harness.Need(t, "unshare", ownMounts("mkfs.ext4 -V && losetup -f")[1:]...)
	for i := range 4 {
		g := harness.NewGraph(t, "gomaster")
		pub, err := load.Advertise(t.Context(), "127.0.0.1:"+g.Port, "/killed", killTopic)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), harness.Timeout)
		var mu sync.Mutex
		var sent []time.Time
		paced := make(chan error, 1)
		go func() {
			paced <- pub.Pace(ctx, killBytes, 1<<20, 2*time.Millisecond, func(int) {
				mu.Lock()
				sent = append(sent, time.Now())
				mu.Unlock()
			})
		}()
		cmd := under(g, ownMounts(powerCut), "-q")
		cmd.Env = append(cmd.Env, fmt.Sprintf("AFTER=%d.%d", 1+i, i))
		cut := g.Launch("power cut", cmd)
		stalls := g.Stalls(cut)
		if code := cut.Wait(); code != 0 {
			t.Fatalf("the power cut did not work: exit code %d", code)
		}
		cancel()
		<-paced
		pub.Close()
		st, err := os.Stat(filepath.Join(g.Dir, "cut"))
		if err != nil {
			t.Fatal(err)
		}
		kept := kept(g, filepath.Join(g.Dir, "kept"), 1)
		n := len(kept)
		most := 2500*time.Millisecond + stalls() // flush interval, sync interval, and a while to do it
		if n < len(sent) && st.ModTime().Sub(sent[n]) > most {
			t.Errorf("message %d is lost, sent %v before the power was cut", n, st.ModTime().Sub(sent[n]))
		}
		t.Logf("%d messages kept of %d", n, len(sent))
	}
}

// TestLostPages: what a power cut takes of a file, its end or pages that are zeros then, costs the chunks that it
// touches and nothing else.
func TestLostPages(t *testing.T) {
	t.Parallel()
	harness.Long(t, "repairs 126 recordings")
	g := harness.NewGraph(t, "gomaster")
	killAt(g, "gorecord", 1500, killTopic, "-O", "killed")
	recorded, err := os.ReadFile(filepath.Join(g.Dir, "killed.bag.active"))
	if err != nil {
		t.Fatal(err)
	}
	repaired := func(name string, pages []byte) {
		g := g.In(t, name)
		path := filepath.Join(g.Dir, "cut.bag.active")
		if err := os.WriteFile(path, pages, 0o600); err != nil {
			t.Fatal(err)
		}
		rest(g, name, path)
		if err := os.RemoveAll(g.Dir); err != nil {
			t.Fatal(err)
		}
	}
	const page = 4096
	for at := 0; ; at++ {
		chunk := bytes.Index(recorded[at:], []byte("op=\x05"))
		if chunk < 0 {
			break
		}
		at += chunk
		for cut := at&^(page-1) + page; cut < min(len(recorded), at+6*page); cut += page {
			repaired(fmt.Sprintf("end %d", cut), recorded[:cut])
			zeros := bytes.Clone(recorded)
			clear(zeros[cut:])
			repaired(fmt.Sprintf("zeros %d", cut), zeros)
			hole := bytes.Clone(recorded)
			clear(hole[cut:min(len(hole), cut+3*page)])
			repaired(fmt.Sprintf("hole %d", cut), hole)
		}
	}
}
