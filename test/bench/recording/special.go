//go:build linux

package recording

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/load"
)

// What the rows without stock ask for.
const (
	splitsWanted  = 1000
	splitRate     = 50e6 // bytes a second
	splitMessage  = 100_000
	blockedMost   = 5 * time.Millisecond // p99
	closedWithin  = 2 * time.Second
	diskRate      = 20e6 // bytes a second
	overloadFor   = 5 * time.Second
	overloadIMU   = "/imu"
	overloadImage = "/camera"
)

// splits records into files of 1 MB. A message blocks from when it is due until the
// kernel says that gorecord has read all of it: the buffers of the sockets, which hold
// several MB, would hide what the publisher's own write could tell.
func splits(ctx context.Context, b *station.Bench, t *figures.Table) (err error) {
	const period = splitMessage * time.Second / splitRate
	perFile := 1<<20/splitMessage + 1
	var blocked []time.Duration
	r, err := prepare(ctx, b, []stream{{
		topic: "/load", size: splitMessage, count: (splitsWanted + 20) * perFile, period: period,
		each: func(l *load.Link, due time.Time) error {
			err := waitRead(ctx, l)
			blocked = append(blocked, time.Since(due))
			return err
		},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Remove()) }()
	if err := r.Start(ctx, b.Gorecord, "--overflow=block", "--split", "--size=1", "-O", "load.bag", "/load"); err != nil {
		return err
	}
	if err := r.flow.send(ctx); err != nil {
		return err
	}
	took := time.Since(r.flow.begun)
	if _, err := r.End(syscall.SIGINT); err != nil {
		return err
	}
	counts, err := r.count()
	if err != nil {
		return err
	}
	bags, err := r.bags()
	if err != nil {
		return err
	}
	sent := r.flow.sent[0]
	t.Target(counts["/load"] == sent, "0 lost", "%d of %d", sent-counts["/load"], sent)
	t.Target(len(bags) > splitsWanted, fmt.Sprintf("%d splits", splitsWanted), "%d files in %.0f s, %.0f MB/s", len(bags), took.Seconds(), float64(sent)*splitMessage/took.Seconds()/1e6)
	slices.Sort(blocked)
	p99 := blocked[len(blocked)*99/100]
	t.Target(p99 <= blockedMost, fmt.Sprintf("blocked <= %v (p99)", blockedMost), "p50 %v, p99 %v, at most %v", short(blocked[len(blocked)/2]), short(p99), short(blocked[len(blocked)-1]))
	return nil
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// waitRead returns when the subscriber has read everything.
func waitRead(ctx context.Context, l *load.Link) error {
	for ctx.Err() == nil {
		if n, err := l.Unread(); err != nil || n == 0 {
			return err
		}
		time.Sleep(100 * time.Microsecond) // wakes after up to 1 ms: what is measured is rather too long
	}
	return ctx.Err()
}

// terminated ends a recording of 100 MB/s that is under way, and waits for an indexed
// bag.
func terminated(masterDead bool) func(ctx context.Context, b *station.Bench, t *figures.Table) error {
	return func(ctx context.Context, b *station.Bench, t *figures.Table) error {
		var all []time.Duration
		for range b.Rounds {
			took, err := terminate(ctx, b, masterDead)
			if err != nil {
				return err
			}
			all = append(all, took)
		}
		worst := slices.Max(all)
		t.Target(worst <= closedWithin, fmt.Sprintf("closed and indexed within %v", closedWithin), "%v at most of %d rounds", worst.Round(time.Millisecond), len(all))
		return nil
	}
}

func terminate(ctx context.Context, b *station.Bench, masterDead bool) (took time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	flowing := make(chan struct{})
	sent := 0
	r, err := prepare(ctx, b, []stream{{
		topic: "/load", size: 1 << 20, count: 1 << 20, period: 10 * time.Millisecond,
		each: func(*load.Link, time.Time) error {
			if sent++; sent == 200 {
				close(flowing)
			}
			return nil
		},
	}})
	if err != nil {
		return 0, err
	}
	defer func() {
		if gone := r.Remove(); !masterDead { // to whom the publisher cannot say goodbye
			err = errors.Join(err, gone)
		}
	}()
	if err := r.Start(ctx, b.Gorecord, "--overflow=block", "-O", "load.bag", "/load"); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	// owner: terminate; ends when gorecord closes the link.
	go func() { ended <- r.flow.send(ctx) }()
	select {
	case <-flowing:
	case err := <-ended:
		return 0, fmt.Errorf("the link ended early: %w\n%s", err, r.Out.String())
	}
	if masterDead {
		if err := r.Master.Close(); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	_, err = r.End(syscall.SIGTERM)
	took = time.Since(start)
	cancel()
	if lost := <-ended; lost == nil && err == nil {
		err = errors.New("the link was not closed")
	}
	if err != nil {
		return 0, err
	}
	counts, err := r.count()
	if err == nil && counts["/load"] < 100 {
		err = fmt.Errorf("the bag holds %d messages, 200 were sent", counts["/load"])
	}
	return took, err
}

// overload floods a recorder whose disk takes 20 MB/s, and sends little but precious
// messages beside. strace holds each write up for as long as such a disk would take
// for a camera's chunk.
func overload(ctx context.Context, b *station.Bench, t *figures.Table) (err error) {
	const (
		noLoss  = "0 IMU messages lost"
		counted = "camera drops counted exactly"
		image   = 1 << 20
	)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(noLoss, "strace is not installed")
		t.Skip(counted, "strace is not installed")
		return nil
	}
	over := make(chan struct{})
	left := int(overloadFor / (10 * time.Millisecond))
	r, err := prepare(ctx, b, []stream{
		{topic: overloadImage, size: image, count: 1 << 30, until: over},
		{topic: overloadIMU, size: 320, count: left, period: 10 * time.Millisecond, each: func(*load.Link, time.Time) error {
			if left--; left == 0 {
				close(over)
			}
			return nil
		}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Remove()) }()
	delay := fmt.Sprintf("inject=pwrite64:delay_enter=%d", image*1000/int(diskRate/1000))
	if err := r.Start(ctx, strace, "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", delay,
		b.Gorecord, "-b", "64", "-O", "load.bag", overloadImage, overloadIMU); err != nil {
		return err
	}
	if err := r.flow.send(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, r.Out.String())
	}
	use, err := r.End(syscall.SIGINT)
	if err != nil {
		return err
	}
	counts, err := r.count()
	if err != nil {
		return err
	}
	said, err := lostInSummary(r.Out.String(), overloadImage)
	if err != nil {
		return err
	}
	images, imu := r.flow.sent[0], r.flow.sent[1]
	lost := images - counts[overloadImage]
	t.Target(counts[overloadIMU] == imu, noLoss, "%d of %d", imu-counts[overloadIMU], imu)
	t.Target(lost == said && lost > 0, counted, "%d of %d lost, %d counted", lost, images, said)
	t.Note("memory %d MiB with -b 64", use.Memory>>20)
	return nil
}

// lostInSummary returns what the closing table of gorecord says is lost of a topic.
func lostInSummary(out, topic string) (int, error) {
	column := 0 // from the topic to the left
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if i, j := slices.Index(words, "lost"), slices.Index(words, "topic"); i >= 0 && j > i {
			column = j - i
		}
		if i := slices.Index(words, topic); column > 0 && i >= column {
			return strconv.Atoi(words[i-column])
		}
	}
	return 0, fmt.Errorf("no summary of %s in:\n%s", topic, out)
}
