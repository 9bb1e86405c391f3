//go:build linux

package playing

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/probe"
)

// settled is how long after the first message arrivals begin to count: stock sends
// its first one 0.1 s late, and what follows in a burst.
const settled = 500 * time.Millisecond

// pace plays at a rate, and judges when the messages arrive.
type pace struct {
	tape
	factor float64       // --rate; zero means 1
	p50    float64       // at most this share of stock's error; zero asks nothing, as below
	p99    float64       // as p50
	p999   time.Duration // at most
	cpu    float64       // at most this share of stock's processor time
	drift  time.Duration // at most, in a minute
	alone  bool          // one round without stock
}

func (p pace) rate() float64 {
	if p.factor == 0 {
		return 1
	}
	return p.factor
}

// keeping is how a player kept to its schedule.
type keeping struct {
	station.Usage
	probe.Timing
}

func (k keeping) cpuTime() float64 { return k.CPU.Seconds() }

func quantile(of func(probe.Timing) time.Duration) func(keeping) float64 {
	return func(k keeping) float64 { return of(k.Timing).Seconds() }
}

func p50(t probe.Timing) time.Duration { return t.P50 }

func p99(t probe.Timing) time.Duration { return t.P99 }

// keep measures one player. others may connect when the probe has; what they return is
// called when all messages have come.
func (p pace) keep(ctx context.Context, b *station.Bench, program, bag string, others func(context.Context, *station.Station) (done func(), err error)) (k keeping, err error) {
	args := []string{"--quiet", "--wait-for-subscribers", fmt.Sprintf("--rate=%g", p.rate()), bag}
	k.Usage, err = play(ctx, b, program, args, func(ctx context.Context, s *station.Station) error {
		links, err := connect(ctx, s, "/probe", p.names()...)
		if err != nil {
			return err
		}
		defer probe.Close(links)
		if others != nil {
			done, err := others(ctx, s)
			if err != nil {
				return err
			}
			defer done()
		}
		all, err := stamp(links, p.size, p.topics*p.count)
		k.Timing = probe.TimingOf(all, p.rate(), settled)
		return err
	})
	return k, err
}

// stamp gives probe.Stamp a thread of its own.
func stamp(links []*probe.Link, size, most int) (all []probe.Arrival, err error) {
	done := make(chan struct{})
	// owner: stamp; ends when most have come, or the player has ended.
	go func() {
		defer close(done)
		all, err = probe.Stamp(links, size, most)
	}()
	<-done
	return all, err
}

func (p pace) beside(ctx context.Context, b *station.Bench, t *figures.Table) error {
	return p.use(b, func(bag string) error {
		rounds, stock := b.Rounds, b.Rosplay
		if p.alone {
			rounds, stock = 1, ""
		}
		var ours, theirs, plain []keeping
		for range rounds {
			k, err := p.keep(ctx, b, b.Goplay, bag, nil)
			if err != nil {
				return err
			}
			ours = append(ours, k)
			if stock != "" {
				if k, err = p.keep(ctx, b, stock, bag, nil); err != nil {
					return err
				}
				theirs = append(theirs, k)
			}
			if k, err = p.tick(ctx); err != nil {
				return err
			}
			plain = append(plain, k)
		}
		p.judge(t, ours, theirs, plain)
		return nil
	})
}

func (p pace) judge(t *figures.Table, ours, stock, plain []keeping) {
	wrong := figures.Most(ours, func(k keeping) int { return k.Missed + k.Disordered })
	t.Target(wrong == 0, "complete and in order", "%d of %d missing or late", wrong, p.topics*p.count)
	if len(plain) > 0 {
		t.Note("a thread that sleeps and writes: p50 %v, p99 %v%s; we are %.2f, %.2f times as late", figures.Micro(figures.Median(plain, quantile(p50))), figures.Micro(figures.Median(plain, quantile(p99))),
			ofProcessor(plain), figures.Ratio(ours, plain, quantile(p50)), figures.Ratio(ours, plain, quantile(p99)))
	}
	p.judgeQuantile(t, "p50", p.p50, p50, ours, stock)
	p.judgeQuantile(t, "p99", p.p99, p99, ours, stock)
	worst := figures.Median(ours, quantile(func(t probe.Timing) time.Duration { return t.P999 }))
	if p.p999 > 0 {
		t.Target(worst <= p.p999.Seconds(), fmt.Sprintf("p99.9 <= %v", p.p999), "%v%s", figures.Micro(worst), beside(stock, quantile(func(t probe.Timing) time.Duration { return t.P999 })))
	} else {
		t.Note("p99.9 %v%s", figures.Micro(worst), beside(stock, quantile(func(t probe.Timing) time.Duration { return t.P999 })))
	}
	if p.drift > 0 {
		drift := slices.MaxFunc(ours, func(a, b keeping) int { return int(a.DriftPerMinute.Abs() - b.DriftPerMinute.Abs()) }).DriftPerMinute
		t.Target(drift.Abs() < p.drift, fmt.Sprintf("drift in a minute < %v", p.drift), "%v", drift.Round(100*time.Nanosecond))
	}
	p.judgeCPU(t, ours, stock)
}

// judgeQuantile compares a quantile of the errors with that of stock.
func (p pace) judgeQuantile(t *figures.Table, name string, share float64, of func(probe.Timing) time.Duration, ours, stock []keeping) {
	value := figures.Micro(figures.Median(ours, quantile(of)))
	target := fmt.Sprintf("%s <= %g of stock", name, share)
	switch {
	case share == 0:
		t.Note("%s %v%s", name, value, beside(stock, quantile(of)))
	case len(stock) == 0:
		t.Skip(target, fmt.Sprint(value))
	default:
		r := figures.Ratio(ours, stock, quantile(of))
		t.Target(r <= share, target, "%.2f (%v%s)", r, value, beside(stock, quantile(of)))
	}
}

func (p pace) judgeCPU(t *figures.Table, ours, stock []keeping) {
	value := fmt.Sprintf("%.2f s", figures.Median(ours, keeping.cpuTime))
	target := fmt.Sprintf("processor time <= %g of stock", p.cpu)
	switch {
	case len(stock) == 0 && p.cpu == 0:
		t.Note("processor time %s", value)
	case len(stock) == 0:
		t.Skip(target, value)
	default:
		r := figures.Ratio(ours, stock, keeping.cpuTime)
		measured := fmt.Sprintf("%.2f (%s beside %.2f s)", r, value, figures.Median(stock, keeping.cpuTime))
		if p.cpu == 0 {
			t.Note("processor time %s of stock", measured)
			return
		}
		t.Target(r <= p.cpu, target, "%s", measured)
	}
}

// ofProcessor says what processor time was used.
func ofProcessor(all []keeping) string {
	return fmt.Sprintf(", %.2f s", figures.Median(all, keeping.cpuTime))
}

// beside says what stock has, if it is there.
func beside(stock []keeping, of func(keeping) float64) string {
	if len(stock) == 0 {
		return ""
	}
	return fmt.Sprintf(" beside %v", figures.Micro(figures.Median(stock, of)))
}
