//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

// Package keys reads single key presses from standard input.
//
// A terminal is switched to give out each key at once and without echo; all else
// stays: Ctrl-C still sends a signal and output is not changed. Input that is not
// a terminal is read as it comes. Keys that have no character, such as arrows, come as
// sequences that begin with an escape.
package keys

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// What the helper tells the loop of Watch through its pipe.
const (
	wakeEnd      = 'e'
	wakeContinue = 'c'
)

// backgroundPoll is how often, in ms, a program in the background looks whether it
// has got the terminal: the fg of a shell sends no signal to a job that runs.
const backgroundPoll = 500

// Watch calls handle for each key until ctx or the input ends, and restores the
// terminal. While the program is in the background it leaves the terminal to
// others, as touching it would stop the process.
func Watch(ctx context.Context, in *os.File, handle func(Key)) error {
	wakeR, wakeW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer wakeR.Close() //nolint:errcheck // nothing can be lost
	defer wakeW.Close() //nolint:errcheck // nothing can be lost
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)

	watchCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	// owner: Watch; ends with watchCtx.
	wg.Go(func() {
		for {
			select {
			case <-continued:
				wakeW.Write([]byte{wakeContinue}) //nolint:errcheck,gosec // a pipe of ours
			case <-watchCtx.Done():
				wakeW.Write([]byte{wakeEnd}) //nolint:errcheck,gosec // a pipe of ours
				return
			}
		}
	})

	t := terminal{fd: int(in.Fd())}
	defer t.restore()
	return t.loop(int(wakeR.Fd()), &decoder{typed: term.IsTerminal(t.fd)}, handle)
}

// terminal is the input, a terminal or not.
type terminal struct {
	fd    int
	saved *term.State // nil while the terminal is as we found it
}

// prepare switches the terminal to single keys if it is one and is ours.
func (t *terminal) prepare() {
	if t.background() {
		return
	}
	now, err := unix.IoctlGetTermios(t.fd, ioctlReadTermios)
	if err != nil {
		return // not a terminal
	}
	if t.saved == nil {
		if t.saved, err = term.GetState(t.fd); err != nil {
			return
		}
	}
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(t.fd, ioctlWriteTermios, now); err != nil {
		t.saved = nil // the keys then come line by line
		return
	}
	// A panic in any goroutine ends the program and nothing of it runs any more. It is to
	// end by a signal then: a shell takes the terminal back from a job that a signal has
	// killed, but not from one that exits.
	debug.SetTraceback("crash")
}

func (t *terminal) restore() {
	if t.saved != nil && !t.background() {
		term.Restore(t.fd, t.saved) //nolint:errcheck,gosec // there is no better thing to do at the end
		debug.SetTraceback("single")
	}
}

// background reports whether the terminal belongs to another job now. A terminal
// that does not control this process has no jobs.
func (t *terminal) background() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// loop hands out keys until the pipe says the end, or the input ends.
func (t *terminal) loop(wake int, d *decoder, handle func(Key)) error {
	buf := make([]byte, 1024)
	for wasAway := true; ; {
		fds := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}, {Fd: int32(t.fd), Events: unix.POLLIN}}
		timeout := -1
		if p := d.patience(); p > 0 {
			timeout = int(p.Milliseconds())
		}
		away := t.background()
		switch {
		case away:
			fds, timeout = fds[:1], backgroundPoll
		case wasAway:
			t.prepare()
		}
		wasAway = away
		switch n, err := unix.Poll(fds, timeout); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			each(d.quiet(), handle)
			continue
		}
		if fds[0].Revents != 0 {
			n, err := unix.Read(wake, buf)
			if err != nil || n == 0 || buf[n-1] == wakeEnd {
				return nil //nolint:nilerr // the pipe is ours: it ends when Watch does
			}
			wasAway = true // the shell has set its own modes meanwhile
			continue
		}
		if len(fds) < 2 || fds[1].Revents == 0 {
			continue
		}
		n, err := unix.Read(t.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		case err != nil || n == 0:
			return nil //nolint:nilerr // the terminal is gone, or the pipe has ended: no more keys
		default:
			each(d.read(buf[:n]), handle)
		}
	}
}

func each(all []Key, handle func(Key)) {
	for _, k := range all {
		handle(k)
	}
}
