package integration_test

import (
	"context"
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

	"github.com/gorosbag/gorosbag/test/load"
)

// numbered publishes numbered messages of killBytes to the first subscriber, is done when
// that has read them all, and keeps the link.
func (g *graph) numbered(count int, period time.Duration) *flood {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.port, "/numbered", killTopic)
	if err != nil {
		cancel()
		g.t.Fatal(err)
	}
	f := &flood{g: g, pub: pub, done: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := pub.Serve(ctx, killBytes, func(l *load.Link) error {
			err := l.Pace(ctx, count, period, func(n int, _ time.Time) error {
				f.sent.Store(int64(n))
				return nil
			})
			again := time.NewTicker(5 * time.Millisecond)
			defer again.Stop()
			for unread := 1; unread > 0 && err == nil && ctx.Err() == nil; <-again.C {
				unread, err = l.Unread()
			}
			f.done <- err
			<-ctx.Done()
			return err
		})
		if err != nil {
			select {
			case f.done <- err: // there was no subscriber
			default:
			}
		}
	}()
	g.t.Cleanup(func() {
		cancel()
		<-ended
		pub.Close()
	})
	return f
}

// account returns what the summary says of the numbered messages.
func (p *process) account() (messages, lost int) {
	p.t.Helper()
	row := regexp.MustCompile(`(?m)^ *(\d+) +\S+ \S+ +\d+ +(\d+) .*  ` + killTopic + " ").FindStringSubmatch(p.out.String())
	if row == nil {
		p.t.Fatalf("no summary in:\n%s", p.out.String())
	}
	messages, err := strconv.Atoi(row[1])
	if err != nil {
		p.t.Fatal(err)
	}
	if lost, err = strconv.Atoi(row[2]); err != nil {
		p.t.Fatal(err)
	}
	return messages, lost
}

// under prepares a recorder of the numbered messages as the child of a tool.
func (g *graph) under(tool []string, args ...string) *exec.Cmd {
	g.t.Helper()
	rec := g.command("gorecord", append([]string{killTopic, "-O", "out", "--min-space=0"}, args...)...)
	cmd := g.command(tool[0], slices.Concat(tool[1:], rec.Args)...)
	return cmd
}

// inject is strace with an injection into the recorder. The recorder stays the child.
func (g *graph) inject(what ...string) []string {
	g.t.Helper()
	need(g.t, "strace", "-f", "-o", "/dev/null", "true")
	tool := []string{"/usr/bin/strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,fdatasync"}
	for _, w := range what {
		tool = append(tool, "-e", "inject="+w)
	}
	return append(tool, "--")
}

// kept returns the numbers in all bags of dir, which all have to be closed but for so
// many, which are recovered.
func (g *graph) kept(dir string, active int) []uint32 {
	g.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		g.t.Fatal(err)
	}
	var all []uint32
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasSuffix(path, ".active"):
			if active--; active < 0 {
				g.t.Errorf("%s was not closed", e.Name())
			}
			all = append(all, g.rest("", path)...)
		case strings.HasSuffix(path, ".bag"):
			all = append(all, numbers(g.t, path)...)
		}
	}
	slices.Sort(all)
	for i, n := range all {
		if n != uint32(i) {
			g.t.Fatalf("message %d is number %d: one is missing, or comes twice", i, n)
		}
	}
	return all
}

// ends waits for the end of a recorder with an exit code.
func (p *process) ends(want int) {
	p.t.Helper()
	if code := p.wait(); code != want {
		p.t.Errorf("exit code %d, want %d; it printed:\n%s", code, want, p.out.String())
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
	need(t, "unshare", ownMounts("true")[1:]...)
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
			g := newGraph(t, "gomaster")
			g.numbered(1<<20, time.Millisecond/5)
			cmd := g.under(ownMounts(smallDisk), tc.args...)
			cmd.Env = append(cmd.Env, "SIZE="+tc.size, "THIEF="+tc.thief)
			rec := g.launch("gorecord", cmd)
			rec.ends(3)
			kept := g.kept(filepath.Join(g.dir, "kept"), 0)
			if len(kept) == 0 && tc.thief == "" || !strings.Contains(rec.out.String(), "no space left on device") {
				t.Errorf("%d messages kept; it printed:\n%s", len(kept), rec.out.String())
			}
			if n, lost := rec.account(); n != len(kept) || lost == 0 {
				t.Errorf("%d messages kept, the summary says %d, and %d lost", len(kept), n, lost)
			}
			if bag := filepath.Join(g.dir, "kept", "out.bag"); name == "one file" && !rosMissing() {
				g.stockReads(bag, len(kept))
			}
		})
	}
}

// TestFileSizeLimit: EFBIG ends a recording as a full disk does.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	g.numbered(1<<20, time.Millisecond)
	const limit = 1_000_000
	rec := g.launch("gorecord", g.under([]string{"/usr/bin/prlimit", "--fsize=" + strconv.Itoa(limit)}, "--chunksize", "100"))
	rec.ends(3)
	kept := g.kept(g.dir, 0)
	if len(kept) < (limit-200_000)/killBytes || !strings.Contains(rec.out.String(), "file too large") {
		t.Errorf("%d messages kept; it printed:\n%s", len(kept), rec.out.String())
	}
	if !rosMissing() {
		g.stockReads(filepath.Join(g.dir, "out.bag"), len(kept))
	}
}

// TestDiskFaults: after one fault the recording goes on in a new file and nothing is
// lost; faults without end end it, and what was written is there.
func TestDiskFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault  string
		once   bool
		active int // files that may be left: strace counts for each thread, and may hit the closing, too
	}{
		"write, once":       {"pwrite64:error=EIO:when=3", true, 1},
		"write, always":     {"pwrite64:error=EIO:when=4+", false, 2},
		"read-only, always": {"pwrite64:error=EROFS:when=4+", false, 2},
		"sync, once":        {"fdatasync:error=EIO:when=2", true, 1},
		"sync, always":      {"fdatasync:error=EIO:when=2+", false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, "gomaster")
			const messages = 150
			f := g.numbered(messages, time.Millisecond)
			tool := g.inject(tc.fault)
			if tc.once { // on the first file only, on whatever threads
				tool = slices.Insert(tool, 1, "-P", filepath.Join(g.dir, "out.bag.active"))
			}
			cmd := g.under(tool, "--chunksize", "20", "--sync", "chunk", "--flush-interval", "50ms", "--overflow", "block")
			rec := g.launch("gorecord", cmd)
			<-f.done // or the link has broken
			rec.signal(syscall.SIGINT)
			rec.ends(3)
			kept := g.kept(g.dir, tc.active)
			n, lost := rec.account()
			if tc.once && (len(kept) != messages || n != messages || lost != 0) {
				t.Errorf("%d messages of %d after a fault that a new file heals; the summary says %d and %d lost", len(kept), messages, n, lost)
			}
			if len(kept) < n || n == 0 || n < messages && lost == 0 {
				t.Errorf("%d messages kept, the summary says %d and %d lost", len(kept), n, lost)
			}
		})
	}
}

// TestSlowDisk: nothing is lost while the buffer has room, and the wait is said.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	const messages = 1000
	f := g.numbered(messages, time.Millisecond)
	rec := g.launch("gorecord", g.under(g.inject("fdatasync:delay_enter=1200000"), "--chunksize", "20"))
	f.waitDone()
	rec.signal(syscall.SIGINT)
	rec.ends(0)
	if kept := g.kept(g.dir, 0); len(kept) != messages || !strings.Contains(rec.out.String(), "slow disk") {
		t.Errorf("%d messages of %d; it printed:\n%s", len(kept), messages, rec.out.String())
	}
}

// TestFileIsDeleted while it is recorded: what was in it is counted, and the recording
// goes on.
func TestFileIsDeleted(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	f := g.numbered(1<<20, time.Millisecond)
	rec := g.start("gorecord", killTopic, "-O", "out", "--flush-interval", "50ms")
	active := filepath.Join(g.dir, "out.bag.active")
	g.eventually("something is written", func() bool { n, err := statIn(g, "out.bag.active"); return err == nil && n > 100_000 })
	if err := os.Remove(active); err != nil {
		t.Fatal(err)
	}
	rec.printed("out_1.bag")
	f.waitSent(f.sent.Load() + 100)
	rec.signal(syscall.SIGINT)
	rec.ends(3)
	kept := numbers(t, filepath.Join(g.dir, "out_1.bag"))
	if n, lost := rec.account(); lost < 20 || kept[0] != uint32(lost) || n != len(kept) || !strings.Contains(rec.out.String(), " deleted") {
		t.Errorf("%d messages, from number %d, are there; the summary says %d and %d lost", len(kept), kept[0], n, lost)
	}
}

// TestRecover: what a killed recorder left becomes a whole bag beside a recording; what
// a living one of stock writes is left alone.
func TestRecover(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	f := g.numbered(1<<20, time.Millisecond)
	dead := g.start("gorecord", killTopic, "-O", "dead", "--flush-interval", "50ms")
	f.waitSent(200)
	g.eventually("something is written", func() bool { n, err := statIn(g, "dead.bag.active"); return err == nil && n > 100_000 })
	dead.signal(syscall.SIGKILL)
	dead.wait()
	left, err := os.ReadFile(filepath.Join(g.dir, "dead.bag.active"))
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := wholeMessages(t, left)
	if !rosMissing() {
		g.start("/usr/lib/rosbag/record", "-O", "stock", "/nothing")
		g.eventually("stock records", func() bool { _, err := statIn(g, "stock.bag.active"); return err == nil })
	}
	rec := g.record(killTopic, "-O", "next", "--recover")
	rec.printed("Recovered")
	rec.stop()
	if out := rec.out.String(); strings.Contains(out, "stock.bag") {
		t.Errorf("a living recorder's file was touched:\n%s", out)
	}
	if n := len(numbers(t, filepath.Join(g.dir, "dead.bag"))); n < whole || n == 0 {
		t.Errorf("%d messages recovered of %d", n, whole)
	}
	if orig, err := os.ReadFile(filepath.Join(g.dir, "dead.bag.orig.active")); err != nil || !slices.Equal(orig, left) {
		t.Errorf("the original was changed: %v", err)
	}
}

// TestStoppedAndContinued: a recorder that stands still for a while loses nothing that
// a publisher waits with.
func TestStoppedAndContinued(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	const messages = 800
	f := g.numbered(messages, time.Millisecond)
	rec := g.start("gorecord", killTopic, "-O", "out")
	f.waitSent(100)
	rec.signal(syscall.SIGSTOP)
	<-time.After(500 * time.Millisecond)
	rec.signal(syscall.SIGCONT)
	f.waitDone()
	rec.stop()
	if kept := g.kept(g.dir, 0); len(kept) != messages {
		t.Errorf("%d messages of %d", len(kept), messages)
	}
}

// TestNobodyReadsTheLog: a terminal that goes away, even before the first line, ends no
// recording, no playing and no master.
func TestNobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	g := &graph{t: t, port: freePort(t), dir: t.TempDir()}
	unread := func(name string, args ...string) *process {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		r.Close()
		cmd := g.command(name, args...)
		cmd.Stdout, cmd.Stderr = w, w
		return g.launch(name, cmd)
	}
	core := unread("gomaster", "-p", g.port)
	g.eventually("the master answers", func() bool { return g.try("gomaster", "healthcheck", "-p", g.port) == nil })
	const messages = 200
	f := g.numbered(messages, time.Millisecond)
	rec := unread("gorecord", killTopic, "-O", "out")
	f.waitDone()
	rec.stop()
	if kept := g.kept(g.dir, 0); len(kept) != messages {
		t.Errorf("%d messages of %d", len(kept), messages)
	}
	again := g.record(killTopic, "-O", "again")
	if code := unread("goplay", "out.bag", "--wait-for-subscribers").wait(); code != 0 {
		t.Errorf("goplay: exit code %d", code)
	}
	again.stop()
	if n := len(numbers(t, filepath.Join(g.dir, "again.bag"))); n != messages {
		t.Errorf("%d messages of %d were played", n, messages)
	}
	core.stop()
}

// TestFewFiles: a process that may open few files keeps the links that it has, says
// what is wrong, and does not spin.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	const messages, others = 1500, 80
	f := g.numbered(messages, time.Millisecond)
	rec := g.launch("gorecord", g.under([]string{"/usr/bin/prlimit", "--nofile=64"}, "-a", "--overflow", "block"))
	f.waitSent(1)
	for i := range others {
		pub, err := load.Advertise(t.Context(), "127.0.0.1:"+g.port, "/other"+strconv.Itoa(i), "/other"+strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pub.Close() })
	}
	rec.printed("too many open files")
	f.waitDone()
	rec.signal(syscall.SIGINT)
	if code := rec.wait(); code != 0 && code != 3 { // 3: links to the others were lost
		t.Errorf("exit code %d; it printed:\n%s", code, rec.out.String())
	}
	if kept := g.kept(g.dir, 0); len(kept) != messages {
		t.Errorf("%d messages of %d", len(kept), messages)
	}
	if cpu := rec.cmd.ProcessState.UserTime() + rec.cmd.ProcessState.SystemTime(); cpu > time.Second {
		t.Errorf("took %v of the processor", cpu)
	}
}
