//go:build linux

package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/load"
)

const (
	bufferMiB   = 256 // -b of both recorders: their default
	restMiB     = 64  // what gorecord may have in memory beside it
	memoryBound = (bufferMiB + restMiB) << 20
	patience    = 6 * time.Minute // for one recording
)

// scenario is a load that both recorders record, and what is asked of ours.
type scenario struct {
	topics, size int
	count        int           // messages of each topic
	period       time.Duration // between those of a topic; zero sends as fast as they are taken
	args         []string      // of both recorders
	unsynced     bool          // gorecord --sync none; stock never syncs
	oneCore      bool          // each program has one core
	first        load.Kind     // of the first topic, with a Payload of size bytes; the zero Kind for that of all

	rate     float64 // at least this many times the messages a second of stock; zero asks nothing
	ofCopy   float64 // at least this share of the plain copy's bytes a second; zero asks nothing
	cpu      float64 // at most this share of stock's processor time for each byte recorded; zero asks nothing
	reported bool    // rate and ofCopy are shown, not asked for
}

func (s scenario) streams() []stream {
	all := make([]stream, s.topics)
	for i := range all {
		all[i] = stream{topic: fmt.Sprintf("/load%d", i), size: s.size, count: s.count, period: s.period}
	}
	all[0].kind = s.first
	return all
}

// command returns how a program is started.
func (s scenario) command(program string, args ...string) []string {
	command := append([]string{program}, args...)
	if s.oneCore {
		return append([]string{"taskset", "--cpu-list", "0"}, command...)
	}
	return command
}

// result is what one recorder made of one load.
type result struct {
	station.Usage
	packing        time.Duration // processor time of stock's compressor alone, for what was recorded
	linked         time.Duration // processor time of the compressor that gorecord links; zero if it was not measured
	sent, recorded int
	bytes          int64 // of what was recorded, payload
	took           time.Duration
}

func (r result) lost() int { return r.sent - r.recorded }

func (r result) peak() int64 { return r.Memory }

// rate returns the bytes a second that got into the bag, from the first one sent
// until the bag was closed.
func (r result) rate() float64 { return float64(r.bytes) / r.took.Seconds() }

// cpuShare returns the processor seconds for each byte in the bag.
func (r result) cpuShare() float64 { return r.CPU.Seconds() / float64(r.bytes) }

// record measures one recorder.
func record(ctx context.Context, b *station.Bench, s scenario, program string, args ...string) (_ result, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := prepare(ctx, b, s.streams())
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, r.Remove()) }()
	args = slices.Concat(args, s.args, []string{"-O", "load.bag"}, r.flow.topics())
	if err := r.Start(ctx, s.command(program, args...)...); err != nil {
		return result{}, err
	}
	if err := r.flow.send(ctx); err != nil {
		return result{}, fmt.Errorf("%w\n%s", err, r.Out.String())
	}
	use, err := r.End(syscall.SIGINT)
	took := time.Since(r.flow.begun)
	if err != nil {
		return result{}, err
	}
	counts, err := r.count()
	if err != nil {
		return result{}, err
	}
	res := result{Usage: use, took: took}
	for i, topic := range r.flow.topics() {
		res.sent += r.flow.sent[i]
		res.recorded += counts[topic]
	}
	res.bytes = int64(res.recorded) * int64(s.size)
	return res, nil
}

// parts returns the processor seconds, for each byte, of all that a recorder cannot do without:
// the copy and the compressor.
func (r result) parts() float64 { return (r.CPU + r.packing).Seconds() / float64(r.bytes) }

// linkedParts is parts with the compressor that gorecord links instead of stock's.
func (r result) linkedParts() float64 { return (r.CPU + r.linked).Seconds() / float64(r.bytes) }

// beside records with ours, with stock and with the plain copy, in turn, and judges the
// medians.
func (s scenario) beside(ctx context.Context, b *station.Bench, t *figures.Table) error {
	var ours, stock, plain []result
	mode := []string{"--overflow=block"}
	if s.unsynced {
		mode = append(mode, "--sync=none")
	}
	for range b.Rounds {
		r, err := record(ctx, b, s, b.Gorecord, mode...)
		if err != nil {
			return err
		}
		ours = append(ours, r)
		if b.Stock != "" {
			if r, err = record(ctx, b, s, b.Stock); err != nil {
				return err
			}
			stock = append(stock, r)
		}
		if r, err = plainCopy(ctx, b, s); err != nil {
			return err
		}
		plain = append(plain, r)
	}
	s.judge(t, ours, stock, plain)
	return nil
}

// judge prints the lines of the row.
func (s scenario) judge(t *figures.Table, ours, stock, plain []result) {
	lost, memory := "", ""
	if len(stock) > 0 {
		lost = fmt.Sprintf(" (stock %d)", figures.Most(stock, result.lost))
		memory = fmt.Sprintf(" (stock %d)", figures.Most(stock, result.peak)>>20)
	}
	t.Target(figures.Most(ours, result.lost) == 0, "0 lost", "%d of %d%s", figures.Most(ours, result.lost), ours[0].sent, lost)
	s.judgeLimits(t, ours, plain)
	s.judgeRate(t, ours, stock)
	s.judgeCPU(t, ours, stock)
	peak := figures.Most(ours, result.peak)
	t.Target(peak <= memoryBound, fmt.Sprintf("memory <= %d + %d MiB", bufferMiB, restMiB), "%d MiB%s", peak>>20, memory)
}

// judgeLimits compares with the least that any recorder has to do.
func (s scenario) judgeLimits(t *figures.Table, ours, plain []result) {
	r := figures.Ratio(ours, plain, result.rate)
	measured := fmt.Sprintf("%.0f %% (%s beside %s)", 100*r, s.speed(ours), s.speed(plain))
	switch {
	case s.ofCopy > 0:
		t.Target(r >= s.ofCopy, fmt.Sprintf(">= %.0f %% of a plain copy", 100*s.ofCopy), "%s", measured)
	case s.period == 0: // else all take the time of the load
		t.Note("%s of a plain copy", measured)
	}
	what := "a plain copy"
	if figures.Most(plain, func(r result) time.Duration { return r.packing }) > 0 {
		what += " and stock's compressor alone"
	}
	parts := func(what string, of func(result) float64) {
		perGB := func(r result) float64 { return 1e9 * of(r) }
		t.Note("processor time %.2f times %s (%.2f beside %.2f s/GB)", figures.Ratio(ours, plain, of), what, figures.Median(ours, perGB), figures.Median(plain, perGB))
	}
	parts(what, result.parts)
	if figures.Most(plain, func(r result) time.Duration { return r.linked }) > 0 {
		parts("a plain copy and the Go library that gorecord links", result.linkedParts)
	}
}

func (s scenario) judgeRate(t *figures.Table, ours, stock []result) {
	target := fmt.Sprintf(">= %gx stock", s.rate)
	switch {
	case s.rate == 0 && !s.reported:
	case len(stock) == 0:
		t.Skip(target, s.speed(ours))
	case s.reported:
		t.Note("%.1fx stock (%s beside %s)", figures.Ratio(ours, stock, result.rate), s.speed(ours), s.speed(stock))
	default:
		r := figures.Ratio(ours, stock, result.rate)
		t.Target(r >= s.rate, target, "%.1fx (%s beside %s)", r, s.speed(ours), s.speed(stock))
	}
}

func (s scenario) judgeCPU(t *figures.Table, ours, stock []result) {
	target := fmt.Sprintf("processor time <= %.2f of stock", s.cpu)
	perGB := func(r result) float64 { return 1e9 * r.cpuShare() }
	if len(stock) == 0 {
		if s.cpu > 0 {
			t.Skip(target, fmt.Sprintf("%.2f s/GB", figures.Median(ours, perGB)))
		}
		return
	}
	r := figures.Ratio(ours, stock, result.cpuShare)
	measured := fmt.Sprintf("%.2f (%.2f beside %.2f s/GB)", r, figures.Median(ours, perGB), figures.Median(stock, perGB))
	if s.cpu > 0 {
		t.Target(r <= s.cpu, target, "%s", measured)
	} else {
		t.Note("processor time %s of stock", measured)
	}
}

// speed returns the median rate in the unit that suits the size of the messages.
func (s scenario) speed(all []result) string {
	return figures.Speed(figures.Median(all, result.rate), s.size)
}
