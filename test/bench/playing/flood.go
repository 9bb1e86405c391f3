//go:build linux

package playing

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gorosbag/gorosbag/test/bench/child"
	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/load"
	"github.com/gorosbag/gorosbag/test/probe"
)

// flood plays one topic with --immediate to a reader that only reads.
type flood struct {
	tape
	rate   float64 // at least this many times the bytes a second that stock delivers
	ofCopy float64 // at least this share of a plain copy from a file to a socket; zero does not copy
}

// delivery is what came of a tape.
type delivery struct {
	station.Usage
	probe.Count
}

func (d delivery) rate() float64 { return float64(d.Bytes) / d.Last.Sub(d.First).Seconds() }

// deliver measures one player.
func (f flood) deliver(ctx context.Context, b *station.Bench, program string, args ...string) (d delivery, err error) {
	d.Usage, err = play(ctx, b, program, args, func(ctx context.Context, s *station.Station) error {
		links, err := connect(ctx, s, "/reader", f.names()...)
		if err != nil {
			return err
		}
		defer probe.Close(links)
		d.Count, err = links[0].Count()
		return err
	})
	return d, err
}

func (f flood) beside(ctx context.Context, b *station.Bench, t *figures.Table) error {
	return f.use(b, func(bag string) error {
		args := []string{"--immediate", "--quiet", "--wait-for-subscribers", bag}
		var ours, stock, unlimited, plain []delivery
		for range b.Rounds {
			d, err := f.deliver(ctx, b, b.Goplay, args...)
			if err != nil {
				return err
			}
			ours = append(ours, d)
			if b.Rosplay != "" {
				if d, err = f.deliver(ctx, b, b.Rosplay, args...); err != nil {
					return err
				}
				stock = append(stock, d)
				if d, err = f.deliver(ctx, b, b.Rosplay, append([]string{"--queue=0"}, args...)...); err != nil {
					return err
				}
				unlimited = append(unlimited, d)
			}
			if f.ofCopy > 0 {
				if d, err = f.send(ctx, b); err != nil {
					return err
				}
				plain = append(plain, d)
			}
		}
		f.judge(t, ours, stock, plain)
		if len(unlimited) > 0 {
			t.Note("%.1fx stock --queue=0 (%s, %d lost, %d MiB of memory)", figures.Ratio(ours, unlimited, delivery.rate), f.speed(unlimited),
				figures.Most(unlimited, f.lost), figures.Most(unlimited, func(d delivery) int64 { return d.Memory })>>20)
		}
		return nil
	})
}

func (f flood) judge(t *figures.Table, ours, stock, plain []delivery) {
	others := ""
	if len(stock) > 0 {
		others = fmt.Sprintf(" (stock %d)", figures.Most(stock, f.lost))
	}
	t.Target(figures.Most(ours, f.lost) == 0, "0 lost", "%d of %d%s", figures.Most(ours, f.lost), f.count, others)
	target := fmt.Sprintf(">= %gx what stock delivers", f.rate)
	if len(stock) == 0 {
		t.Skip(target, f.speed(ours))
	} else {
		r := figures.Ratio(ours, stock, delivery.rate)
		t.Target(r >= f.rate, target, "%.1fx (%s beside %s)", r, f.speed(ours), f.speed(stock))
	}
	cpu := fmt.Sprintf("processor time %.2f s/GB", figures.Median(ours, delivery.perGB))
	if len(stock) > 0 {
		cpu += fmt.Sprintf(" (stock %.2f)", figures.Median(stock, delivery.perGB))
	}
	if len(plain) > 0 {
		cpu += fmt.Sprintf(" (plain copy %.2f)", figures.Median(plain, delivery.perGB))
	}
	t.Note("%s", cpu)
	if len(plain) > 0 {
		r := figures.Ratio(ours, plain, delivery.rate)
		t.Target(r >= f.ofCopy, fmt.Sprintf(">= %.0f %% of a plain copy", 100*f.ofCopy), "%.0f %% (%s beside %s)", 100*r, f.speed(ours), f.speed(plain))
	}
}

func (f flood) lost(d delivery) int { return f.count - d.Messages }

// perGB returns the processor seconds for each GB delivered.
func (d delivery) perGB() float64 { return 1e9 * d.CPU.Seconds() / float64(d.Bytes) }

// speed returns the median rate in the unit that suits the size of the messages.
func (f flood) speed(all []delivery) string {
	return figures.Speed(figures.Median(all, delivery.rate), f.size)
}

// send measures the plain copy of the messages, which lie back to back in a file.
func (f flood) send(ctx context.Context, b *station.Bench) (d delivery, err error) {
	ctx, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return d, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return d, err
	}
	defer l.Close() //nolint:errcheck // only listened on
	file := filepath.Join(b.Dir, "frames")
	defer os.Remove(file) //nolint:errcheck // in our temporary directory
	if err := f.frames(file); err != nil {
		return d, err
	}
	cmd := exec.CommandContext(ctx, self, child.SendCommand, l.Addr().String(), file)
	if err := cmd.Start(); err != nil {
		return d, err
	}
	conn, err := l.Accept()
	if err != nil {
		return d, err
	}
	link, err := probe.NewLink(conn)
	if err != nil {
		return d, err
	}
	defer probe.Close([]*probe.Link{link})
	d.Count, err = link.Count()
	err = errors.Join(err, cmd.Wait())
	d.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return d, err
}

// frames writes the messages as they go over the wire.
func (f flood) frames(path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	frame := make([]byte, 4+f.size)
	load.Fill(frame)
	binary.LittleEndian.PutUint32(frame, uint32(f.size))
	for n := range f.count {
		probe.Payload(frame[4:], n, 0)
		if _, err := out.Write(frame); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return out.Close()
}
