//go:build linux

package keys_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "shell":
		os.Exit(shell())
	case "job":
		os.Exit(job())
	case "stops":
		os.Exit(stops())
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("os/signal.loop"),
		goleak.IgnoreTopFunction("github.com/gorosbag/gorosbag/internal/testkit.Starter"))
}

func TestPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString("s s\x03\x1b[A")
	w.Close()
	var got []keys.Key
	if err := keys.Watch(t.Context(), r, func(k keys.Key) { got = append(got, k) }, nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]keys.Key{'s', ' ', 's', '\x03', keys.Up}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Sequences are whole although they come in parts, and an escape that nothing follows
// is a key.
func TestSequences(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	w.WriteString("x\x1b[1;")
	var got []keys.Key
	err = keys.Watch(ctx, r, func(k keys.Key) {
		got = append(got, k)
		if k == 'y' {
			cancel()
		}
		w.WriteString(map[keys.Key]string{'x': "2D\x1b", keys.Escape: "y"}[k])
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]keys.Key{'x', keys.ShiftLeft, keys.Escape, 'y'}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestEndsWithContext(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	w.WriteString("x")
	// No key comes after x: only the context can end Watch.
	if err := keys.Watch(ctx, r, func(keys.Key) { cancel() }, nil); err != nil {
		t.Fatal(err)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	ours, theirs := testkit.Terminal(t)
	before := termios(t, ours)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var during *unix.Termios
	theirs.WriteString(" \n") // in line mode a key comes only with the newline
	err := keys.Watch(ctx, ours, func(key keys.Key) {
		if key == ' ' {
			during = termios(t, ours)
			cancel()
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case during == nil:
		t.Fatal("no key")
	case during.Lflag&(unix.ICANON|unix.ECHO) != 0:
		t.Errorf("local flags %#x while watching: line mode or echo is on", during.Lflag)
	case during.Lflag&unix.ISIG == 0:
		t.Error("Ctrl-C is off")
	case during.Oflag != before.Oflag:
		t.Error("output modes have changed")
	}
	if d := cmp.Diff(before, termios(t, ours)); d != "" {
		t.Errorf("not restored (-before +after):\n%s", d)
	}
}

// roleVariable makes the test program a part of TestForeground.
const roleVariable = "KEYS_TEST_ROLE"

// shell starts a job in the background of its terminal, waits until the job has
// settled there, and then brings it to the foreground as the fg of a shell does.
func shell() int {
	self, err := os.Executable()
	if err != nil {
		return 10
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), roleVariable+"=job")
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil || testkit.Start(c) != nil {
		return 11
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		return 12
	}
	<-time.After(100 * time.Millisecond) // nothing tells from outside that it polls
	if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, c.Process.Pid); err != nil {
		return 13
	}
	if err := c.Wait(); err != nil {
		return 14
	}
	return 0
}

// job waits for a key.
func job() int {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	os.Stdout.WriteString("started\n")
	code := 1
	if err := keys.Watch(ctx, os.Stdin, func(key keys.Key) {
		if key == ' ' {
			code = 0
			cancel()
		}
	}, nil); err != nil {
		return 2
	}
	return code
}

// stops tells what Stops does, until it has come back once.
func stops() int {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	keys.Stops(ctx, func() { os.Stdout.WriteString("leave\n") }, func() {
		os.Stdout.WriteString("back\n")
		cancel()
	})
	return 0
}

// Ctrl-Z stops the program, but not before it has left the terminal.
func TestStops(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	pipe, err := said.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), roleVariable+"=stops")
	c.Stdout = says
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a job of its own, as a shell makes it
	if err := testkit.Start(c); err != nil {
		t.Fatal(err)
	}
	says.Close()
	buf := make([]byte, 64)
	n := 0
	for n == 0 { // stopped before Stops has begun it has nothing to say
		if err := c.Process.Signal(syscall.SIGTSTP); err != nil {
			t.Fatal(err)
		}
		var state syscall.WaitStatus
		if _, err := syscall.Wait4(c.Process.Pid, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() {
			t.Fatalf("state %#x, %v", state, err)
		}
		// What it had to say is in the pipe. A read with a short deadline might not even look there.
		if err := pipe.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), buf)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		n = max(n, 0)
		if err := c.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	said.SetReadDeadline(time.Now().Add(testTimeout))
	rest, err := io.ReadAll(said)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"leave\n", "back\n"}, []string{string(buf[:n]), string(rest)}); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// testTimeout bounds what should come within a second.
const testTimeout = time.Minute

// A program that was started in the background gets keys once it has the terminal,
// although no signal tells it so.
func TestForeground(t *testing.T) {
	t.Parallel()
	ours, theirs := testkit.Terminal(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), roleVariable+"=shell")
	c.Stdin, c.Stderr = ours, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := testkit.Start(c); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(testTimeout)
	for termios(t, ours).Lflag&unix.ICANON != 0 && time.Now().Before(deadline) {
		<-time.After(10 * time.Millisecond)
	}
	theirs.WriteString(" ")
	if err := c.Wait(); err != nil {
		t.Errorf("the job got no key: %v", err)
	}
}

func termios(t *testing.T, f *os.File) *unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
