//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

// Package keys reads single key presses from standard input.
//
// It switches a terminal to deliver each key at once and without echo; everything else
// stays: Ctrl-C still sends a signal and output is not changed. Input that is not a terminal
// is read without changes. Keys without a character, such as arrows, arrive as sequences that
// begin with an escape byte.
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

// The commands that the helper goroutine sends to the loop of Watch through a pipe.
const (
	wakeEnd      = 'e'
	wakeContinue = 'c'
)

// backgroundPoll is how often, in ms, a program in the background checks whether it is in the
// foreground again: fg sends no signal to a running job.
const backgroundPoll = 500

// Watch calls handle for each key until ctx or the input ends, and restores the terminal.
// While the program is in the background it does not touch the terminal, which would stop
// the process. What is pasted is ignored, unless text reports that a text is being typed; nil
// means never.
func Watch(ctx context.Context, in *os.File, handle func(Key), text func() bool) error {
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
	return t.loop(int(wakeR.Fd()), &decoder{typed: term.IsTerminal(t.fd), text: text}, handle)
}

// terminal is the input, a terminal or not.
type terminal struct {
	fd    int
	saved *term.State // nil while the terminal has its original mode
}

// prepare switches to single keys, if the input is a terminal and in the foreground.
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
	// After a panic nothing restores the terminal. Then the process has to end by a signal: a
	// shell resets the terminal after a job that a signal has killed, but not after an exit.
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

// loop reads keys until the helper sends wakeEnd, or the input ends.
func (t *terminal) loop(wake int, d *decoder, handle func(Key)) error {
	buf := make([]byte, 1024)
	for wasAway := true; ; {
		fds := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}, {Fd: int32(t.fd), Events: unix.POLLIN}}
		timeout := -1
		if p := d.timeout(); p > 0 {
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
