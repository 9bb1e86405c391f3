package faults_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/terminal"
)

// stallingDisk is a file system that answers nothing while it is stalled, like NFS whose
// server is gone.
type stallingDisk struct {
	g      *harness.Graph
	dir    string
	server *exec.Cmd

	waiting string // a file that tells how many requests are under way
}

// newStallingDisk mounts a file system with what is in the directory files, or an empty one if
// files is empty, until the test ends. Both names are relative to the directory of the graph.
func newStallingDisk(g *harness.Graph, files, mountPoint string) *stallingDisk {
	g.T.Helper()
	needStalls(g.T)
	image, dir := filepath.Join(g.Dir, mountPoint+".img"), filepath.Join(g.Dir, mountPoint)
	const size = 192 << 20
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		g.T.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		g.T.Fatal(err)
	}
	format := []string{"-q", "-t", "ext4"}
	if files != "" {
		format = append(format, "-d", files)
	}
	if out, err := g.Command("/usr/sbin/mke2fs", append(format, image)...).CombinedOutput(); err != nil {
		g.T.Fatalf("mke2fs: %v\n%s", err, out)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		g.T.Fatal(err)
	}
	d := &stallingDisk{g: g, dir: dir, server: g.Command("fuse2fs", "-f", image, dir, "-o", "fakeroot")}
	testkit.AfterDeath("umount", "-l", dir)
	if err := testkit.Start(d.server); err != nil {
		g.T.Fatal(err)
	}
	g.T.Cleanup(func() {
		d.heal()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil { // its server ends then
			g.T.Errorf("umount %s: %v", dir, err)
			d.server.Process.Kill()
		}
		d.server.Wait()
	})
	g.Eventually("the disk is there", func() bool {
		_, err := os.Stat(filepath.Join(dir, "lost+found"))
		return err == nil
	})
	// The first close tells the kernel that this server has nothing to say about closing.
	// Else, as with no other file system, the end of a process would wait for it.
	if err := os.WriteFile(filepath.Join(dir, "closed"), nil, 0o600); err != nil {
		g.T.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		g.T.Fatal(err)
	}
	control := dir + ".control"
	if err := os.Mkdir(control, 0o700); err != nil {
		g.T.Fatal(err)
	}
	if err := unix.Mount("none", control, "fusectl", 0, ""); err != nil {
		g.T.Fatal(err)
	}
	g.T.Cleanup(func() {
		if err := unix.Unmount(control, unix.MNT_DETACH); err != nil {
			g.T.Errorf("umount %s: %v", control, err)
		}
	})
	d.waiting = filepath.Join(control, strconv.FormatUint(st.Dev, 10), "waiting")
	return d
}

// needStalls skips the test where no such disk can be made.
func needStalls(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there is no FUSE: %v", err)
	}
	f.Close()
	harness.Need(t, "sh", "-c", "command -v fuse2fs")
	allowed(t, "unshare", "--mount", "mount", "-t", "fusectl", "none", t.TempDir())
}

// stall makes the disk hang at a moment when it has nothing to do: what a FUSE server has
// accepted no process can leave, unlike what NFS hangs in. On a busy machine the server
// may still accept something between the signal and its standstill.
func (d *stallingDisk) stall() {
	d.g.T.Helper()
	d.g.T.Cleanup(d.heal) // before the end of programs that were started before
	d.g.Eventually("the disk is idle", func() bool {
		d.signal(syscall.SIGSTOP)
		for d.runs() {
			runtime.Gosched()
		}
		waiting, err := os.ReadFile(d.waiting)
		if err != nil {
			d.g.T.Fatal(err)
		}
		if string(waiting) == "0\n" {
			return true
		}
		d.heal()
		return false
	})
}

// runs reports whether a thread of the server does not stand still yet.
func (d *stallingDisk) runs() bool {
	running := regexp.MustCompile(`\) [RSD] `)
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", d.server.Process.Pid))
	for _, path := range threads {
		if stat, _ := os.ReadFile(path); running.Match(stat) {
			return true
		}
	}
	return false
}

func (d *stallingDisk) heal() { d.signal(syscall.SIGCONT) }

func (d *stallingDisk) signal(s syscall.Signal) {
	if err := d.server.Process.Signal(s); err != nil {
		d.g.T.Errorf("fuse2fs: %v", err)
	}
}

// hangs waits until a thread of a process waits for the disk.
func hangs(p *harness.Process) {
	p.T.Helper()
	inDisk := regexp.MustCompile(`request_wait|fuse|folio|(wait_on|lock)_page`)
	harness.Eventually(p.T, p.Name+" waits for the disk", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", p.Cmd.Process.Pid))
		for _, path := range threads {
			if where, _ := os.ReadFile(path); inDisk.Match(where) {
				return true
			}
		}
		return false
	})
}

// interrupts sends a signal to a program that waits for the disk, and expects that it
// leaves that behind.
func (d *stallingDisk) interrupts(p *harness.Process, code int, texts ...string) {
	p.T.Helper()
	const most = 2*time.Second + slackStall
	began := time.Now()
	p.Signal(syscall.SIGINT)
	select {
	case <-p.Exited:
	case <-time.After(most):
		p.T.Logf("threads of %s, where they wait and which signals wait for them:\n%s", p.Name, threads(p.Cmd.Process.Pid))
		d.heal()
	}
	p.Ended(code, texts...)
	took := time.Since(began)
	p.T.Logf("%s ended after %v", p.Name, took)
	if took > most {
		p.T.Errorf("%s took %v to end", p.Name, took)
	}
}

// threads tells where the threads of a process stand.
func threads(pid int) string {
	var all strings.Builder
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range dirs {
		where, _ := os.ReadFile(filepath.Join(dir, "wchan"))
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		fmt.Fprintf(&all, "%s %s", filepath.Base(dir), where)
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "SigPnd") || strings.HasPrefix(line, "ShdPnd") || strings.HasPrefix(line, "State") {
				all.WriteString(" " + strings.TrimSpace(line))
			}
		}
		all.WriteString("\n")
	}
	return all.String()
}

// slackStall is how long a busy machine may hold up what should come at once.
const slackStall = 10 * time.Second

// stallPeriod is between messages of stallBag, which come to 20 MB/s: what is read ahead
// lasts less than two seconds.
const (
	stallPeriod   = 5 * time.Millisecond
	stallMessages = 1000
)

// stallBag puts a bag into the directory files.
func stallBag(g *harness.Graph) {
	g.T.Helper()
	if err := os.Mkdir(filepath.Join(g.Dir, "files"), 0o700); err != nil {
		g.T.Fatal(err)
	}
	filling := strings.Repeat("x", 100_000)
	var bag []bags.StringMessage
	for i := range stallMessages {
		bag = append(bag, bags.StringMessage{Topic: "/t", Node: "/n", Latching: false, At: time.Duration(i) * stallPeriod, Text: fmt.Sprintf("%04d", i) + filling})
	}
	bags.Make(g, "files/t.bag", bag...)
}

// plays starts to play, as /player, when the disk has stalled: what is there then is what
// was read ahead, however busy the machine is.
func (d *stallingDisk) plays(e *peers.Listener, args ...string) *harness.Process {
	d.g.T.Helper()
	play := d.g.Start("goplay", append(args, "--pause", "--wait-for-subscribers", "__name:=player")...)
	peers.Served(d.g, e.Node, "/player")
	d.stall()
	if o := peers.SetPaused(d.g, e.Node, "/player", false); !o.Success {
		d.g.T.Fatalf("%+v", o)
	}
	return play
}

// TestPlayFromStalledDisk (N18): play says that it waits for the disk. The clock and the
// services go on meanwhile, nothing is lost and nothing comes in a burst afterwards, and
// an interrupt ends it at once.
func TestPlayFromStalledDisk(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits for a stalled disk")
	needStalls(t)
	g := harness.NewGraph(t, "gomaster")
	stallBag(g)
	disk := newStallingDisk(g, "files", "mnt")
	e := peers.Listen(g, "listener", "/t", "/clock")
	play := disk.plays(e, "mnt/t.bag", "--clock", "--overflow=block") // a busy machine may not let the listener read in time
	play.Printed("play waits for the disk")
	e.WaitFor("/clock", len(e.Texts("/clock"))+100) // what was played before is read by then
	stood := len(e.Texts("/t"))
	for _, pause := range []bool{true, false} {
		if o := peers.SetPaused(g, e.Node, "/player", pause); !o.Success {
			t.Errorf("pause %v: %+v", pause, o)
		}
	}
	e.WaitFor("/clock", len(e.Texts("/clock"))+200) // 2 s, which must not be made up for
	if n := len(e.Texts("/t")); n != stood {
		t.Errorf("%d messages while the disk hangs", n-stood)
	}
	healed := time.Now()
	disk.heal()
	e.WaitFor("/t", stallMessages)
	got := e.Received()
	var last time.Time
	n := 0
	for _, c := range got {
		if c.Topic == "/t" {
			if want := fmt.Sprintf("%04d", n); c.Text()[:4] != want {
				t.Fatalf("message %.4q, want %q", c.Text(), want)
			}
			n, last = n+1, c.At
		}
	}
	left := time.Duration(stallMessages-stood) * stallPeriod
	t.Logf("%d messages were left, %v: they took %v", stallMessages-stood, left, last.Sub(healed))
	if took := last.Sub(healed); took < left-time.Second {
		t.Errorf("%v of the bag took %v", left, took)
	}
	play.Ended(0, "lost: none")
}

// TestScreenThirdRequest: the third request ends a recorder whose disk hangs at once, and the
// terminal is given back.
func TestScreenThirdRequest(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits for a stalled disk")
	g := harness.NewGraph(t, "gomaster")
	disk := newStallingDisk(g, "", "mnt")
	tm := terminal.Open(g, 80, 24)
	before := tm.Modes()
	tm.Keys("gorecord -a -O mnt/run --min-space 0; echo code $?", "Enter")
	tm.Shows("RECORDING")
	pid := tm.Pid()
	disk.stall()
	began := time.Now()
	for i, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if i > 0 {
			<-time.After(program.RequestWindow + 100*time.Millisecond)
		}
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	asked := time.Since(began)
	tm.Shows("code 2")
	if took := time.Since(began); took > asked+3*time.Second+slackStall {
		t.Errorf("it took %v, of which %v until the third request", took, asked)
	}
	tm.Prompt()
	if now := tm.Modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
	if s := tm.All(); strings.Contains(s, "space:") {
		t.Errorf("of the screen stays:\n%s", s)
	}
}

// TestInterruptOnStalledDisk (N18): what only reads ends soon after an interrupt, although
// the disk answers no open, no read, and no close.
func TestInterruptOnStalledDisk(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits for a stalled disk")
	needStalls(t)
	g := harness.NewGraph(t, "gomaster")
	stallBag(g)
	for name, test := range map[string]func(t *testing.T, g *harness.Graph, d *stallingDisk){
		"play": func(_ *testing.T, g *harness.Graph, d *stallingDisk) {
			p := d.plays(peers.Listen(g, "ear_of_play", "/t"), "play/t.bag")
			hangs(p)
			d.interrupts(p, 0, "a read of a bag does not return", "lost: none")
		},
		"open": func(_ *testing.T, g *harness.Graph, d *stallingDisk) {
			d.stall()
			p := g.Start("goplay", "open/t.bag")
			p.Printed("opening takes long")
			d.interrupts(p, 1, "Interrupted while opening open/t.bag")
		},
		"info": func(_ *testing.T, g *harness.Graph, d *stallingDisk) {
			d.stall()
			p := g.Start("gobag", "info", "info/t.bag")
			hangs(p)
			d.interrupts(p, 1, "interrupted, without waiting for the disk")
		},
		"echo": func(t *testing.T, g *harness.Graph, d *stallingDisk) {
			cmd := g.Command("gobag", "echo", "echo/t.bag", "/t")
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var complaints harness.Output
			cmd.Stdout, cmd.Stderr = w, &complaints
			p := g.Launch("gobag", cmd)
			w.Close()
			if _, err := io.ReadFull(r, make([]byte, 1<<20)); err != nil { // it waits in the middle for us to read on
				t.Fatal(err)
			}
			d.stall()
			read := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, r)
				read <- err
			}()
			hangs(p)
			d.interrupts(p, 1)
			if err := <-read; err != nil {
				t.Error(err)
			}
			harness.Contains(t, complaints.String(), "interrupted, without waiting for the disk")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := g.In(t, ".")
			test(t, g, newStallingDisk(g, "files", name))
		})
	}
}

// TestRecordOnStalledDisk (D9): as TestHangingDisk, with a file system that hangs instead
// of a call: also what runs beside the writer, and what the kernel does when a process
// ends, meets it.
func TestRecordOnStalledDisk(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits for a stalled disk")
	g := harness.NewGraph(t, "gomaster")
	disk := newStallingDisk(g, "", "mnt")
	pub := numbered(g, 1<<20, time.Millisecond)
	p := g.Start("gorecord", killTopic, "-O", "mnt/out", "--chunksize", "20", "--buffsize", "1", "--min-space=0")
	g.Eventually("messages are sent", func() bool { return pub.Sent.Load() > 500 })
	disk.stall()
	p.Printed("has not answered")
	p.Printed("queue_full")
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	p.Ended(2, "the disk does not answer")
	took := time.Since(began)
	t.Logf("gorecord ended after %v", took)
	if took < 5*time.Second || took > 9*time.Second+slackStall {
		t.Errorf("gorecord ended after %v", took)
	}
	if n, lost := account(p); n+lost < 500 || lost == 0 {
		t.Errorf("%d messages written, %d lost", n, lost)
	}
}
