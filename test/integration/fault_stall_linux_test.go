package integration_test

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
)

// stallingDisk is a file system that answers nothing while it is stalled, like NFS whose
// server is gone.
type stallingDisk struct {
	g      *graph
	dir    string
	server *exec.Cmd

	waiting string // a file that tells how many requests are under way
}

// stallingDisk mounts a file system with what is in a directory, both named relative to
// the graph's, until the test ends.
func (g *graph) stallingDisk(files, mountPoint string) *stallingDisk {
	g.t.Helper()
	needStalls(g.t)
	image, dir := filepath.Join(g.dir, mountPoint+".img"), filepath.Join(g.dir, mountPoint)
	const size = 192 << 20
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		g.t.Fatal(err)
	}
	if out, err := g.command("/usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", files, image).CombinedOutput(); err != nil {
		g.t.Fatalf("mke2fs: %v\n%s", err, out)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		g.t.Fatal(err)
	}
	d := &stallingDisk{g: g, dir: dir, server: g.command("fuse2fs", "-f", image, dir, "-o", "fakeroot")}
	if err := d.server.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		d.heal()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil { // its server ends then
			g.t.Errorf("umount %s: %v", dir, err)
			d.server.Process.Kill()
		}
		d.server.Wait()
	})
	g.eventually("the disk is there", func() bool {
		_, err := os.Stat(filepath.Join(dir, "lost+found"))
		return err == nil
	})
	// The first close tells the kernel that this server has nothing to say about closing.
	// Else, as with no other file system, the end of a process would wait for it.
	if err := os.WriteFile(filepath.Join(dir, "closed"), nil, 0o600); err != nil {
		g.t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		g.t.Fatal(err)
	}
	control := dir + ".control"
	if err := os.Mkdir(control, 0o700); err != nil {
		g.t.Fatal(err)
	}
	if err := unix.Mount("none", control, "fusectl", 0, ""); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := unix.Unmount(control, unix.MNT_DETACH); err != nil {
			g.t.Errorf("umount %s: %v", control, err)
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
	need(t, "sh", "-c", "command -v fuse2fs")
	allowed(t, "unshare", "--mount", "mount", "-t", "fusectl", "none", t.TempDir())
}

// stall makes the disk hang at a moment when it has nothing to do: what a FUSE server has
// accepted no process can leave, unlike what NFS hangs in. On a busy machine the server
// may still accept something between the signal and its standstill.
func (d *stallingDisk) stall() {
	d.g.t.Helper()
	d.g.t.Cleanup(d.heal) // before the end of programs that were started before
	d.g.eventually("the disk is idle", func() bool {
		d.signal(syscall.SIGSTOP)
		for d.runs() {
			runtime.Gosched()
		}
		waiting, err := os.ReadFile(d.waiting)
		if err != nil {
			d.g.t.Fatal(err)
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
		d.g.t.Errorf("fuse2fs: %v", err)
	}
}

// hangs waits until a thread of a process waits for the disk.
func (p *process) hangs() {
	p.t.Helper()
	inDisk := regexp.MustCompile(`request_wait|fuse|folio|(wait_on|lock)_page`)
	eventually(p.t, p.name+" waits for the disk", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", p.cmd.Process.Pid))
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
func (d *stallingDisk) interrupts(p *process, code int, texts ...string) {
	p.t.Helper()
	const most = 2*time.Second + slackStall
	began := time.Now()
	p.signal(syscall.SIGINT)
	select {
	case <-p.exited:
	case <-time.After(most):
		d.heal()
	}
	p.ended(code, texts...)
	took := time.Since(began)
	p.t.Logf("%s ended after %v", p.name, took)
	if took > most {
		p.t.Errorf("%s took %v to end", p.name, took)
	}
}

// slackStall is how long a busy machine may hold up what should come at once.
const slackStall = 5 * time.Second

// stallPeriod is between messages of stallBag, which come to 20 MB/s: what is read ahead
// lasts less than two seconds.
const (
	stallPeriod   = 5 * time.Millisecond
	stallMessages = 1000
)

// stallBag puts a bag into the directory files.
func (g *graph) stallBag() {
	g.t.Helper()
	if err := os.Mkdir(filepath.Join(g.dir, "files"), 0o700); err != nil {
		g.t.Fatal(err)
	}
	filling := strings.Repeat("x", 100_000)
	var bag []spoken
	for i := range stallMessages {
		bag = append(bag, spoken{"/t", "/n", false, time.Duration(i) * stallPeriod, fmt.Sprintf("%04d", i) + filling})
	}
	g.makeBag("files/t.bag", bag...)
}

// plays starts to play, as /player, when the disk has stalled: what is there then is what
// was read ahead, however busy the machine is.
func (d *stallingDisk) plays(e *ear, args ...string) *process {
	d.g.t.Helper()
	play := d.g.start("goplay", append(args, "--pause", "__name:=player")...)
	d.g.served(e.node, "/player")
	d.stall()
	if o := d.g.setPaused(e.node, "/player", false); !o.Success {
		d.g.t.Fatalf("%+v", o)
	}
	return play
}

// TestPlayFromStalledDisk (N18): play says that it waits for the disk. The clock and the
// services go on meanwhile, nothing is lost and nothing comes in a burst afterwards, and
// an interrupt ends it at once.
func TestPlayFromStalledDisk(t *testing.T) {
	t.Parallel()
	needStalls(t)
	g := newGraph(t, "gomaster")
	g.stallBag()
	disk := g.stallingDisk("files", "mnt")
	e := g.listen("ear", "/t", "/clock")
	play := disk.plays(e, "mnt/t.bag", "--clock")
	play.printed("play waits for the disk")
	stood := len(e.texts("/t"))
	for _, pause := range []bool{true, false} {
		if o := g.setPaused(e.node, "/player", pause); !o.Success {
			t.Errorf("pause %v: %+v", pause, o)
		}
	}
	e.hears("/clock", len(e.texts("/clock"))+200) // 2 s, which must not be made up for
	if n := len(e.texts("/t")); n != stood {
		t.Errorf("%d messages while the disk hangs", n-stood)
	}
	healed := time.Now()
	disk.heal()
	e.hears("/t", stallMessages)
	got := e.caught()
	var last time.Time
	n := 0
	for _, c := range got {
		if c.topic == "/t" {
			if want := fmt.Sprintf("%04d", n); c.text()[:4] != want {
				t.Fatalf("message %.4q, want %q", c.text(), want)
			}
			n, last = n+1, c.at
		}
	}
	left := time.Duration(stallMessages-stood) * stallPeriod
	t.Logf("%d messages were left, %v: they took %v", stallMessages-stood, left, last.Sub(healed))
	if took := last.Sub(healed); took < left-time.Second {
		t.Errorf("%v of the bag took %v", left, took)
	}
	play.ended(0, "lost: none")
}

// TestInterruptOnStalledDisk (N18): what only reads ends soon after an interrupt, although
// the disk answers no open, no read, and no close.
func TestInterruptOnStalledDisk(t *testing.T) {
	t.Parallel()
	needStalls(t)
	g := newGraph(t, "gomaster")
	g.stallBag()
	for name, test := range map[string]func(t *testing.T, g *graph, d *stallingDisk){
		"play": func(_ *testing.T, g *graph, d *stallingDisk) {
			p := d.plays(g.listen("ear_of_play", "/t"), "play/t.bag")
			p.hangs()
			d.interrupts(p, 0, "a read of a bag does not return", "lost: none")
		},
		"open": func(_ *testing.T, g *graph, d *stallingDisk) {
			d.stall()
			p := g.start("goplay", "open/t.bag")
			p.printed("opening takes long")
			d.interrupts(p, 1, "Interrupted while opening open/t.bag")
		},
		"info": func(_ *testing.T, g *graph, d *stallingDisk) {
			d.stall()
			p := g.start("gobag", "info", "info/t.bag")
			p.hangs()
			d.interrupts(p, 1, "interrupted, without waiting for the disk")
		},
		"echo": func(t *testing.T, g *graph, d *stallingDisk) {
			cmd := g.command("gobag", "echo", "echo/t.bag", "/t")
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var complaints output
			cmd.Stdout, cmd.Stderr = w, &complaints
			p := g.launch("gobag", cmd)
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
			p.hangs()
			d.interrupts(p, 1)
			if err := <-read; err != nil {
				t.Error(err)
			}
			contains(t, complaints.String(), "interrupted, without waiting for the disk")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := g.in(t, ".")
			test(t, g, g.stallingDisk("files", name))
		})
	}
}

// TestRecordOnStalledDisk (D9): as TestHangingDisk, with a file system that hangs instead
// of a call: also what runs beside the writer, and what the kernel does when a process
// ends, meets it.
func TestRecordOnStalledDisk(t *testing.T) {
	t.Parallel()
	needStalls(t)
	g := newGraph(t, "gomaster")
	if err := os.Mkdir(filepath.Join(g.dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	disk := g.stallingDisk("empty", "mnt")
	pub := g.numbered(1<<20, time.Millisecond)
	p := g.start("gorecord", killTopic, "-O", "mnt/out", "--chunksize", "20", "--buffsize", "1", "--min-space=0")
	g.eventually("messages are sent", func() bool { return pub.sent.Load() > 500 })
	disk.stall()
	p.printed("has not answered")
	p.printed("queue_full")
	began := time.Now()
	p.signal(syscall.SIGTERM)
	p.ended(2, "the disk does not answer")
	took := time.Since(began)
	t.Logf("gorecord ended after %v", took)
	if took < 5*time.Second || took > 9*time.Second+slackStall {
		t.Errorf("gorecord ended after %v", took)
	}
	if n, lost := p.account(); n+lost < 500 || lost == 0 {
		t.Errorf("%d messages written, %d lost", n, lost)
	}
}
