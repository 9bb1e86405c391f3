package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/load"
)

// TestRetentionOverRestarts: a recorder that is killed and started again and again, as under
// a supervisor, keeps its limits over all its runs, and touches nothing else in the
// directory.
func TestRetentionOverRestarts(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs 50 recorders, and kills most of them")
	const limit, size, restarts = 5 << 20, 1 << 20, 50
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	g := harness.NewGraph(t, "gomaster")
	pub, err := load.Advertise(t.Context(), "127.0.0.1:"+g.Port, "/talker", killTopic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pub.Close() })
	foreign := map[string]string{}
	for _, name := range []string{"robot_1000.bag", "robot.bag.backup", "robot_0.bag.orig", "other_0.bag", "robot_999.bag.active.txt"} {
		foreign[name] = strings.Repeat("not ours\n", 200_000)
		if err := os.WriteFile(filepath.Join(g.Dir, name), []byte(foreign[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		for ctx.Err() == nil { // a link breaks with its recorder
			pub.Pace(ctx, 20_000, 1<<30, time.Millisecond, func(int) {})
		}
	}()
	defer func() { cancel(); <-served }()
	ours := func() (bytes int64, bags int) {
		entries, err := os.ReadDir(g.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			_, other := foreign[e.Name()]
			if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), "robot_") && !other {
				bytes += info.Size()
				bags++
			}
		}
		return bytes, bags
	}
	for n := range restarts {
		rec := g.Start("gorecord", killTopic, "--split", "--size", "1", "--max-bytes", "5M", "--recover", "--sync", "none", "--name-template", "robot_{time}_{split}")
		rec.Printed("Recording to")
		wait := time.NewTimer(time.Duration(random.IntN(600)) * time.Millisecond)
		<-wait.C
		end := syscall.SIGKILL
		if n == restarts-1 {
			g.Eventually("a few bags of this run are written", func() bool { return strings.Count(rec.Out.String(), "Closing") >= 3 })
			end = syscall.SIGINT
		}
		rec.Signal(end)
		rec.Wait()
		if bytes, bags := ours(); bytes > limit+8*size {
			t.Fatalf("after run %d there are %d bytes in %d bags, with a limit of %d", n, bytes, bags, limit)
		}
	}
	bytes, bags := ours()
	t.Logf("%d bytes in %d bags after %d runs", bytes, bags, restarts)
	if bytes > limit+4*size {
		t.Errorf("%d bytes in %d bags, with a limit of %d", bytes, bags, limit)
	}
	for name, want := range foreign {
		if got, err := os.ReadFile(filepath.Join(g.Dir, name)); err != nil || string(got) != want {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
}

// TestEachLimitOverRestarts: by each limit, a run deletes the bags of the one before, which was
// killed, and what --recover made of its last one.
func TestEachLimitOverRestarts(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a recorder that is killed, for each limit")
	for _, limit := range [][2]string{{"--max-splits", "2"}, {"--max-bytes", "2M"}, {"--max-age", "2s"}, {"--keep-free", "900000000G"}} {
		t.Run(limit[0], func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			publishToEach(g)
			record := func(more ...string) *harness.Process {
				return g.Start("gorecord", append([]string{killTopic, "-o", "robot", "--split", "--size", "1", "--recover", "--sync", "none"}, more...)...)
			}
			first := record("--max-bytes", "1G") // with a limit, the bags are remembered
			g.Eventually("a few bags", func() bool { return strings.Count(first.Out.String(), "Closing") >= 3 })
			first.Signal(syscall.SIGKILL)
			first.Wait()
			earlier, err := filepath.Glob(filepath.Join(g.Dir, "robot_*"))
			if err != nil || len(earlier) < 3 {
				t.Fatalf("bags %v, %v", earlier, err)
			}
			second := record(limit[0], limit[1])
			g.Eventually("the earlier bags are gone", func() bool {
				for _, path := range earlier {
					for _, name := range []string{path, strings.TrimSuffix(path, ".active"), strings.TrimSuffix(path, ".bag.active") + ".bag.orig.active"} {
						if _, err := os.Lstat(name); err == nil {
							return false
						}
					}
				}
				return true
			})
			second.Stop()
			if left, err := filepath.Glob(filepath.Join(g.Dir, "robot_*.bag")); err != nil || len(left) == 0 {
				t.Errorf("bags of the last run: %v, %v", left, err)
			}
		})
	}
}

// publishToEach publishes 4 MB/s for one recorder after the other: a link breaks with its
// recorder.
func publishToEach(g *harness.Graph) {
	g.T.Helper()
	pub, err := load.Advertise(g.T.Context(), "127.0.0.1:"+g.Port, "/talker", killTopic)
	if err != nil {
		g.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(g.T.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		for ctx.Err() == nil {
			pub.Pace(ctx, 20_000, 1<<30, 5*time.Millisecond, func(int) {})
		}
	}()
	g.T.Cleanup(func() { cancel(); <-served; pub.Close() })
}

// fullDisk runs its arguments three times on a tmpfs of 6 MB: until its own bags fill the disk;
// then with a limit below that, while a foreign file takes what is free; then with nothing
// there but the foreign file. It ends with the exit code of the last one.
const fullDisk = `mkdir small kept && mount -t tmpfs -o size=6m tmpfs small && cd small || exit 99
"$@" --max-bytes 1G
[ $? = 3 ] || exit 98
cat /dev/zero >foreign 2>/dev/null
echo 'the second one'
"$@" --max-bytes 2M --limit 60 || exit 97
cp *.bag ../kept || exit 96
rm *.bag; cat /dev/zero >>foreign 2>/dev/null
echo 'the third one'
"$@" --max-bytes 2M
code=$?
ls >../left
exit $code`

// TestRetentionOnFullDisk: a recorder that starts on a full disk first deletes bags of earlier
// runs, as far as its limit says, and then records. If that makes no room, it prints one line,
// ends with exit code 3 and leaves no file.
func TestRetentionOnFullDisk(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: the disk is full")
	harness.Need(t, "unshare", ownMounts("true")[1:]...)
	g := harness.NewGraph(t, "gomaster")
	publishToEach(g)
	rec := g.Command("gorecord", killTopic, "-o", "robot", "--split", "--size", "1", "--sync", "none", "--min-space=0")
	p := g.Launch("gorecord", g.Command(ownMounts(fullDisk)[0], append(ownMounts(fullDisk)[1:], rec.Args...)...))
	ends(p, 3)
	_, second, _ := strings.Cut(p.Out.String(), "the second one\n")
	second, third, _ := strings.Cut(second, "the third one\n")
	if !strings.Contains(second, "lost: none") {
		t.Errorf("a run with room after retention printed:\n%s", second)
	}
	kept, err := filepath.Glob(filepath.Join(g.Dir, "kept", "*.bag"))
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, bag := range kept {
		messages += len(bags.Read(t, bag)[killTopic].Messages)
	}
	if messages < 60 {
		t.Errorf("%d messages in %v, want at least the 60 of the second run", messages, kept)
	}
	if n := strings.Count(third, "no space left on device"); n != 1 || strings.Contains(third, "Recording to") {
		t.Errorf("a run without room printed:\n%s", third)
	}
	if left, err := os.ReadFile(filepath.Join(g.Dir, "left")); err != nil || string(left) != "foreign\n" {
		t.Errorf("a run without room left %q, %v", left, err)
	}
}

// TestFullDiskAtTheStart: one clear line, exit 3 and no file, unless the limits make room.
func TestFullDiskAtTheStart(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	rec := g.Start("gorecord", "/chatter", "-O", "out", "--min-space", "900000000G")
	rec.Ended(3, "Less than 900000000G of space free on disk with out.bag.active. Disabling recording.")
	if left, err := filepath.Glob(filepath.Join(g.Dir, "out*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(g.Dir, "out.bag.active")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// noInodes runs its arguments on a tmpfs that has room for bytes, but for no file.
const noInodes = `mkdir small && mount -t tmpfs -o size=6m,nr_inodes=2 tmpfs small && cd small && touch last || exit 99
exec "$@"`

// TestNoInodes: df shows free space then, so the line says what is missing.
func TestNoInodes(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a disk without inodes")
	harness.Need(t, "unshare", ownMounts("true")[1:]...)
	g := harness.NewGraph(t, "gomaster")
	rec := g.Launch("gorecord", under(g, ownMounts(noInodes)))
	rec.Ended(3, "cannot open out.bag.active: the disk is nearly full: it has no inode left for another file (see df -i)")
}

// TestLimitsWithoutIdentities: where files cannot be told from each other, as on NTFS with ntfs-3g, the limits hold for
// one run only, which the log says.
func TestLimitsWithoutIdentities(t *testing.T) {
	t.Parallel()
	harness.Long(t, "mounts a file system of FUSE")
	g := harness.NewGraph(t, "gomaster")
	disk := newStallingDisk(g, "", "mnt")
	harness.Need(t, "sh", "-c", `[ "$(stat -c %W "$0")" = 0 ]`, disk.dir) // that does not report when a file was created
	rec := g.Start("gorecord", killTopic, "-O", "mnt/out", "--min-space=0", "--split", "--size", "1", "--max-splits", "2")
	rec.Printed("bags of earlier recordings do not count for the limits of this one")
	rec.Printed("the file system does not report when a file was created")
	rec.Stop()
}
