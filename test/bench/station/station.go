//go:build linux

// Package station runs programs that are measured: each in a graph and a directory of its own, so
// that the processor time and the memory of a program are those of one row in one round. Only the
// packages below test/bench use it.
package station

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/bench/figures"
)

// exitLoss is what our programs say when messages were lost: a result, not a failure.
const exitLoss = 3

// Bench is one run of a table.
type Bench struct {
	Rounds           int
	Gorecord, Goplay string
	Gobag            string
	Stock, Rosplay   string // empty where they are not installed
	S3               string // may not be there
	Dir              string // for everything that is written
	stations         int    // made so far
}

// Row is one load of a table.
type Row struct {
	Name    string
	Measure func(ctx context.Context, b *Bench, t *figures.Table) error
}

// Station is a program at work in a graph and a directory of its own.
type Station struct {
	Master *master.Master
	Dir    string
	Out    bytes.Buffer // what the program printed
	Env    []string     // of the program, beside what it needs for the graph

	cmd  *exec.Cmd
	peak chan int64 // gets its peak memory at the end
}

// Usage is what a program used from its start to its end.
type Usage struct {
	CPU    time.Duration // also of its children
	Memory int64         // the most that was resident; bytes
}

// Station makes the graph and the directory.
func (b *Bench) Station(ctx context.Context) (_ *Station, err error) {
	s := &Station{peak: make(chan int64, 1)}
	b.stations++
	s.Dir = filepath.Join(b.Dir, strconv.Itoa(b.stations))
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return nil, err
	}
	s.Master, err = master.New(ctx, master.Options{Listen: "127.0.0.1:0"})
	return s, err
}

// Start starts a program, with its arguments, in the graph.
func (s *Station) Start(ctx context.Context, command ...string) error {
	s.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	s.cmd.Dir = s.Dir
	s.cmd.Env = append(os.Environ(), "ROS_MASTER_URI="+s.Master.URI(), "ROS_IP=127.0.0.1", "ROS_LOG_DIR="+s.Dir)
	s.cmd.Env = append(s.cmd.Env, s.Env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.Out, &s.Out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	pid := s.cmd.Process.Pid
	// owner: Wait, which takes what it sends; ends with the process.
	go func() { s.peak <- figures.PeakMemory(pid) }()
	return nil
}

// End tells the program to end, and waits.
func (s *Station) End(sig syscall.Signal) (Usage, error) {
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return Usage{}, err
	}
	return s.Wait()
}

// Wait returns when the program is gone. The bag of a recorder is closed then.
func (s *Station) Wait() (Usage, error) {
	err := s.cmd.Wait()
	state := s.cmd.ProcessState
	u := Usage{state.UserTime() + state.SystemTime(), <-s.peak}
	if err != nil && state.ExitCode() != exitLoss {
		return u, fmt.Errorf("%s: %w\n%s", s.cmd.Path, err, s.Out.String())
	}
	return u, nil
}

// Remove ends what is left of the station and deletes its directory.
func (s *Station) Remove() error {
	if s.cmd != nil && s.cmd.Process != nil && s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill() // after another error, which counts
		_, _ = s.Wait()
	}
	return errors.Join(s.Master.Close(), os.RemoveAll(s.Dir))
}
