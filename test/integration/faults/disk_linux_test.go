package faults_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

// numbered publishes numbered messages of killBytes to the first subscriber, is done when
// that has read them all, and keeps the link.
func numbered(g *harness.Graph, count int, period time.Duration) *peers.Flood {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*harness.Timeout)
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.Port, "/numbered", killTopic)
	if err != nil {
		cancel()
		g.T.Fatal(err)
	}
	f := &peers.Flood{G: g, Pub: pub, Done: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := pub.Serve(ctx, killBytes, func(l *load.Link) error {
			err := l.Pace(ctx, count, period, func(n int, _ time.Time) error {
				f.Sent.Store(int64(n))
				return nil
			})
			again := time.NewTicker(5 * time.Millisecond)
			defer again.Stop()
			for unread := 1; unread > 0 && err == nil && ctx.Err() == nil; <-again.C {
				unread, err = l.Unread()
			}
			f.Done <- err
			<-ctx.Done()
			return err
		})
		if err != nil {
			select {
			case f.Done <- err: // there was no subscriber
			default:
			}
		}
	}()
	g.T.Cleanup(func() {
		cancel()
		<-ended
		pub.Close()
	})
	return f
}

// account returns what the summary says of the numbered messages.
func account(p *harness.Process) (messages, lost int) {
	p.T.Helper()
	row := regexp.MustCompile(`(?m)^ *(\d+) +\S+ \S+ +\d+ +(\d+) .*  ` + killTopic + " ").FindStringSubmatch(p.Out.String())
	if row == nil {
		p.T.Fatalf("no summary in:\n%s", p.Out.String())
	}
	messages, err := strconv.Atoi(row[1])
	if err != nil {
		p.T.Fatal(err)
	}
	if lost, err = strconv.Atoi(row[2]); err != nil {
		p.T.Fatal(err)
	}
	return messages, lost
}

// under prepares a recorder of the numbered messages as the child of a tool.
func under(g *harness.Graph, tool []string, args ...string) *exec.Cmd {
	g.T.Helper()
	rec := g.Command("gorecord", append([]string{killTopic, "-O", "out", "--min-space=0"}, args...)...)
	cmd := g.Command(tool[0], slices.Concat(tool[1:], rec.Args)...)
	return cmd
}

// inject is strace with injections into each call of the recorder. Which call of several it is
// cannot be said here: strace counts them for each thread. The recorder stays the child.
func inject(g *harness.Graph, what ...string) []string {
	g.T.Helper()
	harness.Need(g.T, "strace", "-f", "-o", "/dev/null", "true")
	tool := []string{"/usr/bin/strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,fdatasync"}
	for _, w := range what {
		tool = append(tool, "-e", "inject="+w)
	}
	return append(tool, "--")
}

// kept returns the numbers in all bags of dir, which all have to be closed but for so
// many, which are recovered.
func kept(g *harness.Graph, dir string, active int) []uint32 {
	g.T.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		g.T.Fatal(err)
	}
	var all []uint32
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasSuffix(path, ".active"):
			if active--; active < 0 {
				g.T.Errorf("%s was not closed", e.Name())
			}
			all = append(all, rest(g, "", path)...)
		case strings.HasSuffix(path, ".bag"):
			all = append(all, numbers(g.T, path)...)
		}
	}
	slices.Sort(all)
	for i, n := range all {
		if n != uint32(i) {
			g.T.Fatalf("message %d is number %d: one is missing, or comes twice", i, n)
		}
	}
	return all
}

// ends waits for the end of a recorder with an exit code.
func ends(p *harness.Process, want int) {
	p.T.Helper()
	if code := p.Wait(); code != want {
		p.T.Errorf("exit code %d, want %d; it printed:\n%s", code, want, p.Out.String())
	}
}

// ownMounts runs a shell script in namespaces of its own. However the test ends, they take
// all that was started and mounted there with them.
func ownMounts(script string) []string {
	return []string{"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"}
}

// smallDisk runs its arguments on a tmpfs of SIZE that nobody else sees, and copies what
// is there in the end. If THIEF is set, another process fills the disk meanwhile.
const smallDisk = `mkdir small kept && mount -t tmpfs -o size=$SIZE tmpfs small && cd small || exit 99
if [ "$THIEF" ]; then (until ls | grep -q active; do sleep 0.05; done; exec cat /dev/zero >thief) 2>/dev/null & fi
"$@"
code=$?
wait
cd .. && cp small/*.bag* kept || exit 98
exit $code`

// TestFullDisk: the bags are closed, can be read by stock as they are, and hold all that
// was not counted as lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	harness.Need(t, "unshare", ownMounts("true")[1:]...)
	for name, tc := range map[string]struct {
		size, thief string
		args        []string
	}{
		"one file":    {"6m", "", nil},
		"split":       {"6m", "", []string{"--split", "--size", "1"}},
		"lz4":         {"1m", "", []string{"--lz4", "--chunksize", "100"}},
		"thief":       {"6m", "1", []string{"--chunksize", "20"}},
		"thief split": {"6m", "1", []string{"--chunksize", "20", "--split", "--size", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			numbered(g, 1<<20, time.Millisecond/5)
			cmd := under(g, ownMounts(smallDisk), tc.args...)
			cmd.Env = append(cmd.Env, "SIZE="+tc.size, "THIEF="+tc.thief)
			rec := g.Launch("gorecord", cmd)
			ends(rec, 3)
			kept := kept(g, filepath.Join(g.Dir, "kept"), 0)
			if len(kept) == 0 && tc.thief == "" || !strings.Contains(rec.Out.String(), "no space left on device") {
				t.Errorf("%d messages kept; it printed:\n%s", len(kept), rec.Out.String())
			}
			if n, lost := account(rec); n != len(kept) || lost == 0 {
				t.Errorf("%d messages kept, the summary says %d, and %d lost", len(kept), n, lost)
			}
			if bag := filepath.Join(g.Dir, "kept", "out.bag"); name == "one file" && !harness.ROSMissing() {
				stockReads(g, bag, len(kept))
			}
		})
	}
}

// TestFileSizeLimit: EFBIG ends a recording as a full disk does.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a limit of the file size")
	g := harness.NewGraph(t, "gomaster")
	numbered(g, 1<<20, time.Millisecond)
	const limit = 1_000_000
	rec := g.Launch("gorecord", under(g, []string{"/usr/bin/prlimit", "--fsize=" + strconv.Itoa(limit)}, "--chunksize", "100"))
	ends(rec, 3)
	kept := kept(g, g.Dir, 0)
	if len(kept) < (limit-200_000)/killBytes || !strings.Contains(rec.Out.String(), "file too large") {
		t.Errorf("%d messages kept; it printed:\n%s", len(kept), rec.Out.String())
	}
	if !harness.ROSMissing() {
		stockReads(g, filepath.Join(g.Dir, "out.bag"), len(kept))
	}
}

// TestSlowDisk: nothing is lost while the buffer has room, and the wait is said.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a slow disk")
	g := harness.NewGraph(t, "gomaster")
	const messages = 1000
	f := numbered(g, messages, time.Millisecond)
	rec := g.Launch("gorecord", under(g, inject(g, "fdatasync:delay_enter=1200000"), "--chunksize", "20"))
	f.WaitDone()
	rec.Signal(syscall.SIGINT)
	ends(rec, 0)
	if kept := kept(g, g.Dir, 0); len(kept) != messages || !strings.Contains(rec.Out.String(), "slow disk") {
		t.Errorf("%d messages of %d; it printed:\n%s", len(kept), messages, rec.Out.String())
	}
}

// TestFileIsDeleted while it is recorded: what was in it is counted, and the recording
// goes on.
func TestFileIsDeleted(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := numbered(g, 1<<20, time.Millisecond)
	rec := g.Start("gorecord", killTopic, "-O", "out", "--flush-interval", "50ms")
	active := filepath.Join(g.Dir, "out.bag.active")
	g.Eventually("something is written", func() bool { n, err := harness.StatIn(g, "out.bag.active"); return err == nil && n > 100_000 })
	if err := os.Remove(active); err != nil {
		t.Fatal(err)
	}
	rec.Printed("out_1.bag")
	f.WaitSent(f.Sent.Load() + 100)
	g.Eventually("the next file has some of them", func() bool { n, err := harness.StatIn(g, "out_1.bag.active"); return err == nil && n > 20_000 })
	rec.Signal(syscall.SIGINT)
	ends(rec, 3)
	kept := numbers(t, filepath.Join(g.Dir, "out_1.bag"))
	if n, lost := account(rec); lost < 20 || kept[0] != uint32(lost) || n != len(kept) || !strings.Contains(rec.Out.String(), " deleted") {
		t.Errorf("%d messages, from number %d, are there; the summary says %d and %d lost", len(kept), kept[0], n, lost)
	}
}

// TestDirectoryIsRenamed while it is recorded to, and a link to somewhere else takes its place:
// that is reported, and the paths that are printed from then on are those of files.
func TestDirectoryIsRenamed(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: the directory of the bags is renamed")
	g := harness.NewGraph(t, "gomaster")
	dir, moved := filepath.Join(g.Dir, "bags"), filepath.Join(g.Dir, "moved")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := numbered(g, 1<<20, time.Millisecond)
	rec := g.Start("gorecord", killTopic, "-O", filepath.Join(dir, "out"), "--flush-interval", "50ms")
	g.Eventually("something is written", func() bool { n, err := harness.StatIn(g, "bags/out.bag.active"); return err == nil && n > 100_000 })
	if err := errors.Join(os.Rename(dir, moved), os.Symlink(t.TempDir(), dir)); err != nil {
		t.Fatal(err)
	}
	f.WaitSent(f.Sent.Load() + 3000)
	g.Eventually("it is reported", func() bool { return strings.Contains(rec.Out.String(), "directory was renamed") })
	rec.Signal(syscall.SIGINT)
	ends(rec, 0)
	path := filepath.Join(moved, "out.bag")
	harness.Contains(t, rec.Out.String(), path+": ") // the summary
	if n, lost := account(rec); len(numbers(t, path)) != n || lost != 0 {
		t.Errorf("%d messages are there; the summary says %d and %d lost", len(numbers(t, path)), n, lost)
	}
}

// TestRecover: what a killed recorder left becomes a whole bag beside a recording; what
// a living one of stock writes is left alone.
func TestRecover(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := numbered(g, 1<<20, time.Millisecond)
	dead := g.Start("gorecord", killTopic, "-O", "dead", "--flush-interval", "50ms")
	f.WaitSent(200)
	g.Eventually("something is written", func() bool { n, err := harness.StatIn(g, "dead.bag.active"); return err == nil && n > 100_000 })
	dead.Signal(syscall.SIGKILL)
	dead.Wait()
	left, err := os.ReadFile(filepath.Join(g.Dir, "dead.bag.active"))
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := wholeMessages(t, left)
	if !harness.ROSMissing() {
		g.Start("/usr/lib/rosbag/record", "-O", "stock", "/nothing")
		g.Eventually("stock records", func() bool { _, err := harness.StatIn(g, "stock.bag.active"); return err == nil })
	}
	rec := g.Record(killTopic, "-O", "next", "--recover")
	rec.Printed("Recovered")
	rec.Stop()
	if out := rec.Out.String(); strings.Contains(out, "stock.bag") {
		t.Errorf("a living recorder's file was touched:\n%s", out)
	}
	if n := len(numbers(t, filepath.Join(g.Dir, "dead.bag"))); n < whole || n == 0 {
		t.Errorf("%d messages recovered of %d", n, whole)
	}
	if orig, err := os.ReadFile(filepath.Join(g.Dir, "dead.bag.orig.active")); err != nil || !slices.Equal(orig, left) {
		t.Errorf("the original was changed: %v", err)
	}
}

// TestStoppedAndContinued: a recorder that stands still for a while loses nothing that
// a publisher waits with.
func TestStoppedAndContinued(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const messages = 800
	f := numbered(g, messages, time.Millisecond)
	rec := g.Start("gorecord", killTopic, "-O", "out")
	f.WaitSent(100)
	rec.Signal(syscall.SIGSTOP)
	<-time.After(500 * time.Millisecond)
	rec.Signal(syscall.SIGCONT)
	f.WaitDone()
	rec.Stop()
	if kept := kept(g, g.Dir, 0); len(kept) != messages {
		t.Errorf("%d messages of %d", len(kept), messages)
	}
}

// TestNobodyReadsTheLog: a terminal that goes away, even before the first line, ends no
// recording, no playing and no master.
func TestNobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()}
	unread := func(name string, args ...string) *harness.Process {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		r.Close()
		cmd := g.Command(name, args...)
		cmd.Stdout, cmd.Stderr = w, w
		return g.Launch(name, cmd)
	}
	core := unread("gomaster", "-p", g.Port)
	g.Eventually("the master answers", func() bool { return g.Try("gomaster", "healthcheck", "-p", g.Port) == nil })
	const messages = 200
	f := numbered(g, messages, time.Millisecond)
	rec := unread("gorecord", killTopic, "-O", "out")
	f.WaitDone()
	rec.Stop()
	if kept := kept(g, g.Dir, 0); len(kept) != messages {
		t.Errorf("%d messages of %d", len(kept), messages)
	}
	again := g.Record(killTopic, "-O", "again")
	if code := unread("goplay", "out.bag", "--wait-for-subscribers", "--overflow", "block").Wait(); code != 0 {
		t.Errorf("goplay: exit code %d", code)
	}
	again.Stop()
	if n := len(numbers(t, filepath.Join(g.Dir, "again.bag"))); n != messages {
		t.Errorf("%d messages of %d were played", n, messages)
	}
	core.Stop()
}

// TestFewFiles: a process that may open few files keeps the links that it has, says
// what is wrong, and does not spin.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a limit of open files")
	g := harness.NewGraph(t, "gomaster")
	const messages, others = 1500, 80
	start := time.Now()
	f := numbered(g, messages, time.Millisecond)
	rec := g.Launch("gorecord", under(g, []string{"/usr/bin/prlimit", "--nofile=64"}, "-a", "--overflow", "block"))
	f.WaitSent(1)
	for i := range others {
		pub, err := load.Advertise(t.Context(), "127.0.0.1:"+g.Port, "/other"+strconv.Itoa(i), "/other"+strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pub.Close() })
	}
	rec.Printed("too many open files")
	f.WaitDone()
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 0 && code != 3 { // 3: links to the others were lost
		t.Errorf("exit code %d; it printed:\n%s", code, rec.Out.String())
	}
	if kept := kept(g, g.Dir, 0); len(kept) != messages {
		t.Errorf("%d messages of %d", len(kept), messages)
	}
	took := time.Since(start)
	if cpu := rec.Cmd.ProcessState.UserTime() + rec.Cmd.ProcessState.SystemTime(); cpu > max(time.Second, took/4) { // what takes long tries more often
		t.Errorf("took %v of the processor in %v", cpu, took)
	}
}

// unmounted runs its arguments on a tmpfs that is unmounted below them, which ends them once they have said so.
const unmounted = `mkdir small && mount -t tmpfs -o size=20m tmpfs small || exit 99
"$@" 2>log & recorder=$!
until [ -e small/out.bag.active ]; do sleep 0.05; done
umount -l small
until grep -q "is not reachable" log; do kill -0 $recorder || break; sleep 0.05; done
kill -INT $recorder; wait $recorder; code=$?
cat log; exit $code`

// TestUnmountedBelow: a file system that is unmounted by umount -l while a bag on it is written still takes the bag, but
// nobody finds it there: this is said at once and at the end, with exit code 3.
func TestUnmountedBelow(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a disk that is unmounted")
	harness.Need(t, "unshare", ownMounts("true")[1:]...)
	g := harness.NewGraph(t, "gomaster")
	publishToEach(g)
	rec := g.Command("gorecord", killTopic, "-O", "small/out", "--min-space=0")
	p := g.Launch("gorecord", g.Command(ownMounts(unmounted)[0], append(ownMounts(unmounted)[1:], rec.Args...)...))
	ends(p, 3)
	if n := strings.Count(p.Out.String(), "files are lost from sight"); n != 1 {
		t.Errorf("said %d times:\n%s", n, p.Out.String())
	}
	if !strings.Contains(p.Out.String(), "gorecord: small: the directory of the bags is not reachable") {
		t.Errorf("not said at the end:\n%s", p.Out.String())
	}
}
