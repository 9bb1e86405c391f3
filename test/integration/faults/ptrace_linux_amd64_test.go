package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/load"
)

// fileCalls are the system calls that change a bag or its name.
var fileCalls = map[uint64]string{
	unix.SYS_PWRITE64: "pwrite", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FSYNC: "fsync", unix.SYS_FTRUNCATE: "ftruncate",
	unix.SYS_FALLOCATE: "fallocate", unix.SYS_RENAMEAT2: "rename",
}

// TestKillAtEachCall kills the recorder at each system call that changes a bag: before
// it, after it, and writes also in their middle. The counting is the kernel's own, over
// all threads. After each, at most the last call is missing.
func TestKillAtEachCall(t *testing.T) {
	t.Parallel()
	harness.Long(t, "traces each system call of some hundred recorders, for twenty seconds of processor time")
	for _, how := range []string{"before", "torn", "after"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			pub, err := load.Advertise(t.Context(), "127.0.0.1:"+g.Port, "/killed", killTopic)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { pub.Close() })
			var calls []string
			whole := killAtCall(g, pub, 0, how)
			for at := 1; at <= whole.n; at++ {
				if tr := killAtCall(g, pub, at, how); tr.killed { // a run may have fewer calls
					calls = append(calls, tr.call)
				}
			}
			t.Logf("killed %s each of %v", how, calls)
			if len(calls) < whole.n/2 || whole.n < 20 {
				t.Errorf("killed %d times at %d calls", len(calls), whole.n)
			}
		})
	}
}

// killAtCall records two files and kills the recorder at a call, if it comes to it.
func killAtCall(g *harness.Graph, pub *load.Publisher, at int, how string) *tracer {
	g.T.Helper()
	dir, err := os.MkdirTemp(g.Dir, "")
	if err != nil {
		g.T.Fatal(err)
	}
	const messages = 350
	ctx, cancel := context.WithTimeout(g.T.Context(), harness.Timeout)
	defer cancel()
	paced := make(chan error, 1)
	go func() { paced <- pub.Pace(ctx, killBytes, messages, 1, func(int) {}) }() // as fast as it goes
	cmd := g.Command("gorecord", killTopic, "-O", "out", "-l", strconv.Itoa(messages), "--chunksize", "150", "--sync", "chunk",
		"--split", "--size", "1", "--overflow=block", "--min-space=0", "-q")
	cmd.Dir = dir
	tr := &tracer{at: at, how: how}
	if err := tr.run(cmd); err != nil {
		g.T.Fatal(err)
	}
	cancel()
	<-paced
	checkRest(g, dir, tr, messages)
	return tr
}

// checkRest puts together what is in a directory.
func checkRest(g *harness.Graph, dir string, tr *tracer, messages int) {
	g.T.Helper()
	where := fmt.Sprintf("killed %s %s, call %d", tr.how, tr.call, tr.at)
	entries, err := os.ReadDir(dir)
	if err != nil {
		g.T.Fatal(err)
	}
	active := 0
	var all []uint32
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(path, ".active") {
			all = append(all, numbers(g.T, path)...)
			continue
		}
		active++
		all = append(all, rest(g, where, path)...)
	}
	if active > 2 { // the file that is closed, and the next
		g.T.Errorf("%s: %d files are active", where, active)
	}
	slices.Sort(all)
	for i, n := range all {
		if n != uint32(i) {
			g.T.Fatalf("%s: message %d is number %d: one is missing, or comes twice", where, i, n)
		}
	}
	if !tr.killed && len(all) != messages {
		g.T.Errorf("%d messages of %d without a kill", len(all), messages)
	}
}

// tracer runs a program and kills it at one of its calls.
type tracer struct {
	at  int    // the number of the call; 0 is none
	how string // before it, torn or after; hang holds the thread there instead, fail does not run the call

	// For fail: what the call fails with, which calls count, and whether all from that number on fail.
	errno  unix.Errno
	only   string
	onward bool

	started chan int // gets the process; nil if nobody wants it
	exited  int      // the exit code in the end
	killed  bool
	call    string
	n       int
	inside  map[int]bool // threads between the entry and the exit of a call
	failing map[int]bool // those whose call does not run
}

// run starts cmd and follows it to its end. Only the thread that starts a process may
// trace it.
func (tr *tracer) run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// In a process group of its own, for which wait can wait: the thread may have started processes
	// of other tests before.
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := wait(pid, &status); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	if tr.started != nil {
		tr.started <- pid
	}
	tr.inside, tr.failing = map[int]bool{}, map[int]bool{}
	thread, signal, held := pid, 0, false
	for {
		if err := resume(thread, signal, held); err != nil {
			return err
		}
		var err error
		if thread, err = wait(-pid, &status); err != nil {
			return err
		}
		signal, held = 0, false
		switch {
		case status.Exited() || status.Signaled():
			if thread == pid {
				tr.exited = status.ExitStatus()
				cmd.Wait() // the process is waited for already, but its output may not have been read to the end
				return nil
			}
		case status.StopSignal() == unix.SIGTRAP|0x80:
			tr.inside[thread] = !tr.inside[thread]
			if tr.how == "fail" {
				tr.fail(pid, thread)
				continue
			}
			if !tr.stop(pid, thread) {
				continue
			}
			if held = tr.how == "hang"; !held {
				if err := unix.Kill(pid, unix.SIGKILL); err != nil {
					return err
				}
			}
		case status.StopSignal() != unix.SIGTRAP && status.StopSignal() != unix.SIGSTOP:
			signal = int(status.StopSignal())
		}
	}
}

// resume lets a thread go on, unless it is held. It may be dead by now.
func resume(thread, signal int, held bool) error {
	if held {
		return nil
	}
	if err := unix.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// wait waits for a child of this thread, or with -pid for any thread of its process group.
func wait(pid int, status *unix.WaitStatus) (int, error) {
	for {
		thread, err := unix.Wait4(pid, status, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return thread, err
		}
	}
}

// TestTracerTakesNoOthers: a process that the thread has started before is left to who waits for it.
func TestTracerTakesNoOthers(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	other := exec.Command("true")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	var tr tracer
	if err := tr.run(exec.Command("sleep", "0.1")); err != nil || tr.exited != 0 {
		t.Errorf("%v, exit code %d", err, tr.exited)
	}
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
}

// stop looks at a thread at the entry or exit of a call, and reports whether it is time.
func (tr *tracer) stop(pid, thread int) bool {
	var r unix.PtraceRegs
	if tr.killed || unix.PtraceGetRegs(thread, &r) != nil || !touchesBag(pid, &r) {
		return false
	}
	entry := tr.inside[thread]
	if entry {
		tr.n++
	}
	if tr.n != tr.at || !entry && tr.call == "" {
		return false
	}
	tr.call = fileCalls[r.Orig_rax]
	if tr.how == "torn" && entry && r.Orig_rax == unix.SYS_PWRITE64 {
		r.Rdx /= 2                     // of the bytes
		unix.PtraceSetRegs(thread, &r) // else it is whole
	}
	tr.killed = entry == (tr.how == "before" || tr.how == "hang")
	return tr.killed
}

// noCall is the number of a system call that the kernel skips.
const noCall = ^uint64(0)

// fail makes the call at whose entry or exit a thread is fail, if it is one of those.
func (tr *tracer) fail(pid, thread int) {
	var r unix.PtraceRegs
	if unix.PtraceGetRegs(thread, &r) != nil {
		return // the thread is dead
	}
	switch entry := tr.inside[thread]; {
	case entry && fileCalls[r.Orig_rax] == tr.only && touchesBag(pid, &r):
		tr.n++
		if tr.n == tr.at || tr.onward && tr.n > tr.at {
			r.Orig_rax = noCall
			tr.failing[thread] = unix.PtraceSetRegs(thread, &r) == nil
		}
	case !entry && tr.failing[thread]:
		delete(tr.failing, thread)
		r.Rax = -uint64(tr.errno)
		unix.PtraceSetRegs(thread, &r) // else the thread is dead
	}
}

// touchesBag reports whether a call is about a bag.
func touchesBag(pid int, r *unix.PtraceRegs) bool {
	switch name := fileCalls[r.Orig_rax]; name {
	case "":
		return false
	case "rename", "fsync": // in the bag's directory
		return true
	default:
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, r.Rdi))
		return err == nil && (strings.HasSuffix(path, ".active") || strings.HasSuffix(path, ".bag"))
	}
}

// TestDiskFaults: after one fault the recording goes on in a new file and nothing is
// lost; faults without end end it, and what was written is there.
func TestDiskFaults(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a disk that fails")
	for name, tc := range map[string]struct {
		tr     tracer
		active int // files that may be left
	}{
		"write, once":       {tracer{at: 3, only: "pwrite", errno: unix.EIO}, 0},
		"write, always":     {tracer{at: 4, only: "pwrite", errno: unix.EIO, onward: true}, 2},
		"read-only, always": {tracer{at: 4, only: "pwrite", errno: unix.EROFS, onward: true}, 2},
		"sync, once":        {tracer{at: 2, only: "fdatasync", errno: unix.EIO}, 0},
		"sync, always":      {tracer{at: 2, only: "fdatasync", errno: unix.EIO, onward: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			const messages = 150
			f := numbered(g, messages, time.Millisecond)
			cmd := g.Command("gorecord", killTopic, "-O", "out", "--min-space=0", "--chunksize", "20", "--sync", "chunk",
				"--flush-interval", "50ms", "--overflow", "block")
			rec := &harness.Process{T: t, Name: "gorecord", Cmd: cmd}
			cmd.Stdout, cmd.Stderr = &rec.Out, &rec.Out
			tr := &tc.tr
			tr.how, tr.started = "fail", make(chan int, 1)
			done := make(chan error, 1)
			// owner: the test; ends with the program, which ends by itself when its disk fails.
			go func() { done <- tr.run(cmd) }()
			var pid int
			select {
			case pid = <-tr.started:
			case err := <-done:
				t.Fatal(err)
			}
			<-f.Done // or the link has broken
			syscall.Kill(pid, syscall.SIGINT)
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(2 * harness.Timeout):
				syscall.Kill(pid, syscall.SIGKILL)
				t.Fatalf("gorecord does not end; it printed:\n%s", rec.Out.String())
			}
			if tr.exited != 3 || tr.n < tr.at {
				t.Errorf("exit code %d after %d calls; it printed:\n%s", tr.exited, tr.n, rec.Out.String())
			}
			kept := kept(g, g.Dir, tc.active)
			n, lost := account(rec)
			if !tr.onward && (len(kept) != messages || n != messages || lost != 0) {
				t.Errorf("%d messages of %d after a fault that a new file heals; the summary says %d and %d lost", len(kept), messages, n, lost)
			}
			if len(kept) < n || n == 0 || n < messages && lost == 0 {
				t.Errorf("%d messages kept, the summary says %d and %d lost", len(kept), n, lost)
			}
		})
	}
}

// TestHangingDisk: the end that is asked for comes within ten seconds and says why, and
// at once when it is asked for three times.
func TestHangingDisk(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a disk that hangs, for ten seconds")
	// Equal signals that are pending count once: a busy machine sees fewer than are sent.
	for name, signals := range map[string]int{"one signal": 1, "three signals or more": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			const messages = 2000 // eight times what the buffer holds
			count := messages
			if signals < 0 {
				count = 1 << 20 // more than there is time for
			}
			f := numbered(g, count, time.Millisecond)
			cmd := g.Command("gorecord", killTopic, "-O", "out", "--chunksize", "20", "--buffsize", "1")
			p := &harness.Process{T: t, Name: "gorecord", Cmd: cmd}
			cmd.Stdout, cmd.Stderr = &p.Out, &p.Out
			tr := &tracer{at: 5, how: "hang", started: make(chan int, 1)}
			done := make(chan error, 1)
			go func() { done <- tr.run(cmd) }()
			pid := <-tr.started
			p.Printed("has not answered")
			p.Printed("queue_full")
			if signals > 0 {
				if err := <-f.Done; err != nil { // all are read
					t.Fatal(err)
				}
			}
			stalls := g.Stalls(p)
			start := time.Now()
			again := time.NewTicker(100 * time.Millisecond)
			defer again.Stop()
			for ended := false; !ended; {
				if signals != 0 {
					syscall.Kill(pid, syscall.SIGTERM)
					signals--
				}
				select {
				case err := <-done:
					if err != nil {
						t.Fatal(err)
					}
					ended = true
				case <-again.C:
				}
			}
			took, most := time.Since(start)-stalls(), 10*time.Second
			if signals < 0 {
				most = 6 * time.Second // it did not give up by itself
			} else if n, lost := account(p); !strings.Contains(p.Out.String(), "the disk does not answer") || n+lost != messages {
				t.Errorf("%d messages and %d lost, want %d; it printed:\n%s", n, lost, messages, p.Out.String())
			}
			if took > most || tr.exited != 2 {
				t.Errorf("exit code %d after %v", tr.exited, took)
			}
			kept(g, g.Dir, 1)
		})
	}
}
