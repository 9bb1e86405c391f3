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
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/load"
)

// exitLoss is what our programs say when messages were lost: a result, not a failure.
const exitLoss = 3

// station is a program at work in a graph and a directory of its own.
type station struct {
	master *master.Master
	dir    string
	cmd    *exec.Cmd
	out    bytes.Buffer // what it printed
	peak   chan int64   // gets its peak memory at the end
}

// recording is a recorder at work.
type recording struct {
	*station
	flow *flow
}

// station makes the graph and the directory.
func (b *bench) station(ctx context.Context) (_ *station, err error) {
	s := &station{peak: make(chan int64, 1)}
	b.stations++
	s.dir = filepath.Join(b.dir, strconv.Itoa(b.stations))
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	s.master, err = master.New(ctx, master.Options{Listen: "127.0.0.1:0"})
	return s, err
}

// prepare makes a graph and advertises the load in it.
func (b *bench) prepare(ctx context.Context, streams []stream) (_ *recording, err error) {
	s, err := b.station(ctx)
	if err != nil {
		return nil, err
	}
	r := &recording{station: s}
	if r.flow, err = advertise(ctx, s.master, streams); err != nil {
		return nil, errors.Join(err, s.master.Close())
	}
	return r, nil
}

// start starts a program, with its arguments, in the graph.
func (s *station) start(ctx context.Context, command ...string) error {
	s.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	s.cmd.Dir = s.dir
	s.cmd.Env = append(os.Environ(), "ROS_MASTER_URI="+s.master.URI(), "ROS_IP=127.0.0.1", "ROS_LOG_DIR="+s.dir,
		"AWS_ACCESS_KEY_ID="+storeUser, "AWS_SECRET_ACCESS_KEY="+storePassword)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	pid := s.cmd.Process.Pid
	// owner: wait, which takes what it sends; ends with the process.
	go func() { s.peak <- figures.PeakMemory(pid) }()
	return nil
}

// usage is what a program used from its start to its end.
type usage struct {
	cpu    time.Duration // also of its children
	memory int64         // the most that was resident; bytes
}

// end tells the program to end, and waits.
func (s *station) end(sig syscall.Signal) (usage, error) {
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return usage{}, err
	}
	return s.wait()
}

// wait returns when the program is gone. The bag of a recorder is closed then.
func (s *station) wait() (usage, error) {
	err := s.cmd.Wait()
	state := s.cmd.ProcessState
	u := usage{state.UserTime() + state.SystemTime(), <-s.peak}
	if err != nil && state.ExitCode() != exitLoss {
		return u, fmt.Errorf("%s: %w\n%s", s.cmd.Path, err, s.out.String())
	}
	return u, nil
}

// remove ends what is left of the station and deletes its directory.
func (s *station) remove() error {
	if s.cmd != nil && s.cmd.Process != nil && s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill() // after another error, which counts
		_, _ = s.wait()
	}
	return errors.Join(s.master.Close(), os.RemoveAll(s.dir))
}

// remove ends what is left of the recording and deletes its bags.
func (r *recording) remove() error { return errors.Join(r.flow.close(), r.station.remove()) }

// count reads every message of the recording, in all its bags, and returns how many
// different ones each topic has. A bag without a good index is an error.
func (r *recording) count() (map[string]int, error) {
	names, err := r.bags()
	if err != nil {
		return nil, err
	}
	var files []rosbag.File
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // read only
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		bag, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{IndexOnly: true})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, rosbag.FileOf(name, bag))
	}
	all := rosbag.NewSequence(files, rosbag.SequenceOptions{})
	defer all.Close()
	all.SetFilter(rosbag.Query{Workers: 2, Reuse: true})
	seen := map[string][]bool{}
	counts := map[string]int{}
	for all.HasNext() {
		m, err := all.Next()
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
