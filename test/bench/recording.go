//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/load"
)

// exitLoss is what gorecord says when messages were lost: a result, not a failure.
const exitLoss = 3

// recording is a recorder at work in a graph and a directory of its own.
type recording struct {
	master *master.Master
	flow   *flow
	dir    string
	cmd    *exec.Cmd
	out    bytes.Buffer // what it printed
	peak   chan int64   // gets its peak memory at the end
}

// prepare makes the graph and advertises the load in it.
func (b *bench) prepare(ctx context.Context, streams []stream) (_ *recording, err error) {
	r := &recording{peak: make(chan int64, 1)}
	b.recordings++
	r.dir = filepath.Join(b.dir, strconv.Itoa(b.recordings))
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return nil, err
	}
	if r.master, err = master.New(ctx, master.Options{Listen: "127.0.0.1:0"}); err != nil {
		return nil, err
	}
	if r.flow, err = advertise(ctx, r.master, streams); err != nil {
		return nil, errors.Join(err, r.master.Close())
	}
	return r, nil
}

// start starts a program in the graph.
func (r *recording) start(ctx context.Context, program string, args ...string) error {
	r.cmd = exec.CommandContext(ctx, program, args...)
	r.cmd.Dir = r.dir
	r.cmd.Env = append(os.Environ(), "ROS_MASTER_URI="+r.master.URI(), "ROS_IP=127.0.0.1", "ROS_LOG_DIR="+r.dir)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := r.cmd.Start(); err != nil {
		return err
	}
	pid := r.cmd.Process.Pid
	// owner: wait, which takes what it sends; ends with the process.
	go func() { r.peak <- peakMemory(pid) }()
	return nil
}

// usage is what a recorder used from its start to its end.
type usage struct {
	cpu    time.Duration // also of its children
	memory int64         // the most that was resident; bytes
}

// end tells the recorder to end, and waits.
func (r *recording) end(sig syscall.Signal) (usage, error) {
	if err := r.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return usage{}, err
	}
	return r.wait()
}

// wait returns when the recorder is gone, which is when its bag is closed.
func (r *recording) wait() (usage, error) {
	err := r.cmd.Wait()
	state := r.cmd.ProcessState
	u := usage{state.UserTime() + state.SystemTime(), <-r.peak}
	if err != nil && state.ExitCode() != exitLoss {
		return u, fmt.Errorf("%s: %w\n%s", r.cmd.Path, err, r.out.String())
	}
	return u, nil
}

// remove ends what is left of the recording and deletes its bags.
func (r *recording) remove() error {
	if r.cmd != nil && r.cmd.Process != nil && r.cmd.ProcessState == nil {
		_ = r.cmd.Process.Kill() // after another error, which counts
		_, _ = r.wait()
	}
	return errors.Join(r.flow.close(), r.master.Close(), os.RemoveAll(r.dir))
}

// peakMemory follows a process to its end and returns the most memory that it had
// resident. The kernel's own sum at the end, ru_maxrss, would be at least ours: a
// child inherits it.
func peakMemory(pid int) (most int64) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return most
		}
		_, rest, ok := bytes.Cut(status, []byte("\nVmHWM:"))
		if !ok {
			return most // it has ended and waits for us
		}
		var kib int64
		if _, err := fmt.Sscanf(string(rest), "%d kB", &kib); err != nil {
			return most
		}
		most = max(most, kib<<10)
	}
}

// count reads every message of the recording, in all its bags, and returns how many
// different ones each topic has. A bag without a good index is an error.
func (r *recording) count() (map[string]int, error) {
	bags, err := bagfmt.OpenSequence(os.DirFS(r.dir), bagfmt.SequenceOptions{
		Reader: bagfmt.ReaderOptions{IndexOnly: true}, Workers: 2, Reuse: true,
	}, ".")
	if err != nil {
		return nil, err
	}
	defer bags.Close() //nolint:errcheck // read only
	seen := map[string][]bool{}
	counts := map[string]int{}
	for m, err := range bags.All() {
		if err != nil {
			return nil, err
		}
		if m.Conn.Header.Type() != load.TypeName {
			continue // the recorder's own
		}
		data, topic := m.Data(), m.Conn.Topic
		n := int(binary.LittleEndian.Uint32(data[4:]))
		if missing := n + 1 - len(seen[topic]); missing > 0 {
			seen[topic] = append(seen[topic], make([]bool, missing)...)
		}
		if !seen[topic][n] {
			seen[topic][n] = true
			counts[topic]++
		}
	}
	return counts, nil
}

// bags returns the names of the closed bags.
func (r *recording) bags() ([]string, error) { return filepath.Glob(filepath.Join(r.dir, "*.bag")) }
