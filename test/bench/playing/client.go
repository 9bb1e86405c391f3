//go:build linux

package playing

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/probe"
)

// client plays to a subscriber of roscpp or rospy that is there before the player starts, with
// the default options of the player. It counts what the subscriber misses of the first messages,
// and judges when the callbacks are called.
type client struct {
	tape
	library string // roscpp or rospy
}

// errNotInstalled is of a subscriber that cannot run here.
var errNotInstalled = errors.New("not installed")

//go:embed testdata/subscriber.cpp testdata/subscriber.py
var subscribers embed.FS

// served is what came of one run.
type served struct {
	callbacks probe.Timing
	kernel    probe.Timing // of a link to the same player beside the subscriber
	missing   int
	first     int           // of those before the first that came, by topic
	begin     time.Duration // from the start of the player to the first callback
}

func (c client) beside(ctx context.Context, b *station.Bench, t *figures.Table) error {
	command, err := c.command(ctx, b)
	if errors.Is(err, errNotInstalled) {
		t.Skip("0 missing", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	return c.use(b, func(bag string) error {
		var ours, stock []served
		for range b.Rounds {
			s, err := c.serve(ctx, b, command, b.Goplay, bag)
			if err != nil {
				return err
			}
			ours = append(ours, s)
			if b.Rosplay != "" {
				if s, err = c.serve(ctx, b, command, b.Rosplay, bag); err != nil {
					return err
				}
				stock = append(stock, s)
			}
		}
		c.judge(t, ours, stock)
		return nil
	})
}

func (c client) judge(t *figures.Table, ours, stock []served) {
	missing := func(s served) int { return s.missing }
	first := func(s served) int { return s.first }
	others := ""
	if len(stock) > 0 {
		others = fmt.Sprintf(" (stock %d, %d)", figures.Most(stock, missing), figures.Most(stock, first))
	}
	disordered := figures.Most(ours, func(s served) int { return s.callbacks.Disordered })
	t.Target(disordered == 0, "in order", "%d out of order", disordered)
	t.Target(figures.Most(ours, missing) == 0, "0 missing", "%d of %d, %d of them the first ones%s", figures.Most(ours, missing), c.topics*c.count, figures.Most(ours, first), others)
	for _, value := range []struct {
		name string
		of   func(served) float64
	}{
		{"start to first callback", func(s served) float64 { return s.begin.Seconds() }},
		{"callback p50", func(s served) float64 { return s.callbacks.P50.Seconds() }},
		{"callback p99", func(s served) float64 { return s.callbacks.P99.Seconds() }},
		{"kernel p50", func(s served) float64 { return s.kernel.P50.Seconds() }},
		{"kernel p99", func(s served) float64 { return s.kernel.P99.Seconds() }},
	} {
		measured := fmt.Sprintf("%s %v", value.name, figures.Micro(figures.Median(ours, value.of)))
		if len(stock) > 0 {
			measured += fmt.Sprintf(" beside %v (%.2f)", figures.Micro(figures.Median(stock, value.of)), figures.Ratio(ours, stock, value.of))
		}
		t.Note("%s", measured)
	}
}

// command returns how to start the subscriber, which is compiled if it has to be.
func (c client) command(ctx context.Context, b *station.Bench) ([]string, error) {
	name := map[string]string{"roscpp": "subscriber.cpp", "rospy": "subscriber.py"}[c.library]
	source, err := subscribers.ReadFile("testdata/" + name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(b.Dir, name)
	if err := os.WriteFile(path, source, 0o600); err != nil {
		return nil, err
	}
	if c.library == "rospy" {
		const python = "/usr/bin/python3" // Debian's, which has rospy
		if err := exec.CommandContext(ctx, python, "-c", "import rospy").Run(); err != nil {
			return nil, fmt.Errorf("rospy: %w", errNotInstalled)
		}
		return []string{python, path}, nil
	}
	program := filepath.Join(b.Dir, "subscriber")
	if _, err := os.Stat(program); err == nil {
		return []string{program}, nil
	}
	flags, err := exec.CommandContext(ctx, "pkg-config", "--cflags", "--libs", "roscpp").Output()
	if err != nil {
		return nil, fmt.Errorf("roscpp and its headers: %w", errNotInstalled)
	}
	out, err := exec.CommandContext(ctx, "g++", append([]string{"-O2", "-o", program, path}, strings.Fields(string(flags))...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("g++: %w: %s", err, out)
	}
	return []string{program}, nil
}

// serve measures one player.
func (c client) serve(ctx context.Context, b *station.Bench, command []string, program, bag string) (r served, err error) {
	ctx, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	s, err := b.Station(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Remove()) }()
	sub := exec.CommandContext(ctx, command[0], append(command[1:], c.names()...)...)
	sub.Env = append(os.Environ(), "ROS_MASTER_URI="+s.Master.URI(), "ROS_IP=127.0.0.1", "ROS_LOG_DIR="+s.Dir)
	sub.Stderr = os.Stderr
	out, err := sub.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := sub.Start(); err != nil {
		return r, err
	}
	lines := bufio.NewReader(out)
	if said, err := lines.ReadString('\n'); err != nil || said != "ready\n" {
		return r, errors.Join(fmt.Errorf("the subscriber said %q", said), err, sub.Process.Kill(), sub.Wait())
	}
	started := probe.Now()
	if err := s.Start(ctx, program, "--quiet", bag); err != nil {
		return r, errors.Join(err, sub.Process.Kill(), sub.Wait())
	}
	links, err := connect(ctx, s, "/probe", c.names()...)
	if err == nil {
		var all []probe.Arrival
		all, err = stamp(links, c.size, c.topics*c.count) // ends with the player
		r.kernel = probe.TimingOf(all, 1, settled)
		probe.Close(links)
	}
	_, ended := s.Wait()
	err = errors.Join(err, ended, sub.Process.Signal(syscall.SIGINT))
	var all []probe.Arrival
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		var a probe.Arrival
		var due, at int64
		if _, e := fmt.Fscan(bytes.NewReader(scan.Bytes()), &a.Link, &a.Seq, &due, &at); e != nil {
			return r, errors.Join(err, fmt.Errorf("the subscriber said %q: %w", scan.Text(), e), sub.Process.Kill(), sub.Wait())
		}
		a.Due, a.At = time.Duration(due), time.Duration(at)
		all = append(all, a)
	}
	if err = errors.Join(err, sub.Wait()); err != nil {
		return r, err
	}
	if len(all) == 0 {
		return r, errors.New("the subscriber got nothing")
	}
	r.callbacks = probe.TimingOf(all, 1, settled)
	came, first, begin := map[[2]int]bool{}, make([]int, c.topics), all[0].At
	for i := range first {
		first[i] = c.count
	}
	for _, a := range all {
		came[[2]int{a.Link, a.Seq}] = true
		first[a.Link] = min(first[a.Link], a.Seq)
		begin = min(begin, a.At)
	}
	r.begin = begin - started
	r.missing = c.topics*c.count - len(came)
	for _, missing := range first {
		r.first += missing
	}
	return r, nil
}
