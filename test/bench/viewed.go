//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// unviewedLeast is the least share of the messages a second that is recorded when viewers could come
// and none does.
const unviewedLeast = 0.99

// slowRate is how fast the slow viewer reads, in bytes a second.
const slowRate = 1000

// viewed records 100 MB/s for no, one and eight viewers, and for a slow viewer beside a fast one, in
// turn. Then it records as fast as possible, with and without the door for viewers.
func viewed(ctx context.Context, b *bench, t *figures.Table) error {
	s := scenario{topics: 4, size: 250_000, count: 800, period: 10 * time.Millisecond} // 100 MB/s
	flood := scenario{topics: 1, size: 100, count: 500_000}
	var alone, one, eight, beside []viewedResult
	var closed, open []result
	var sent []time.Duration // processor time of a plain copy to a socket
	for range b.rounds {
		for _, group := range []struct {
			results    *[]viewedResult
			fast, slow int
		}{{&alone, 0, 0}, {&one, 1, 0}, {&eight, 8, 0}, {&beside, 1, 1}} {
			r, err := b.recordViewed(ctx, s, group.fast, group.slow)
			if err != nil {
				return err
			}
			*group.results = append(*group.results, r)
		}
		cpu, err := plainSend(ctx, int64(s.topics*s.count), s.size)
		if err != nil {
			return err
		}
		sent = append(sent, cpu)
		r, err := b.record(ctx, flood, b.gorecord, "--overflow=block")
		if err != nil {
			return err
		}
		closed = append(closed, r)
		if r, err = b.record(ctx, flood, b.gorecord, "--overflow=block", "--http=127.0.0.1:0"); err != nil {
			return err
		}
		open = append(open, r)
	}
	for what, all := range map[string][]viewedResult{"1 viewer": one, "8 viewers": eight, "a slow viewer": beside} {
		t.Target(figures.Most(all, viewedResult.lost) == 0, "0 lost with "+what, "%d of %d", figures.Most(all, viewedResult.lost), all[0].sent)
	}
	perGB := func(all []viewedResult) float64 {
		return figures.Median(all, func(r viewedResult) float64 {
			return (r.cpu.Seconds() - figures.Median(alone, func(a viewedResult) float64 { return a.cpu.Seconds() })) / float64(r.viewed) * 1e9
		})
	}
	plain := figures.Median(sent, time.Duration.Seconds) / (float64(s.topics*s.count*s.size) / 1e9)
	t.Note("a viewer costs %.2f s/GB, each of eight %.2f s/GB, beside %.2f s/GB of a plain copy to a socket", perGB(one), perGB(eight), plain)
	share := func(all []viewedResult, viewers int) float64 {
		return 100 * figures.Median(all, func(r viewedResult) float64 { return float64(r.viewed) / float64(viewers) / float64(r.sent*s.size) })
	}
	t.Note("a viewer sees %.0f %% of 100 MB/s, each of eight %.0f %%, one beside a viewer of %d B/s %.0f %%", share(one, 1), share(eight, 8), slowRate, share(beside, 1))
	memory := func(r viewedResult) int64 { return r.memory }
	t.Note("memory %d MiB without, %d MiB with eight viewers", figures.Most(alone, memory)>>20, figures.Most(eight, memory)>>20)
	ratio := figures.Ratio(open, closed, result.rate)
	t.Target(ratio >= unviewedLeast, fmt.Sprintf(">= %.2f of the rate without --http, nobody connected", unviewedLeast), "%.3f (%s beside %s)", ratio, flood.speed(open), flood.speed(closed))
	return nil
}

// viewedResult is what a recorder made of a load that was viewed.
type viewedResult struct {
	result
	viewed int64 // bytes of messages that all fast viewers got
}

// recordViewed measures one recorder with viewers.
func (b *bench) recordViewed(ctx context.Context, s scenario, fast, slow int) (viewedResult, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return viewedResult{}, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return viewedResult{}, err
	}
	viewing, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var bytes atomic.Int64
	for i := range fast + slow {
		// owner: recordViewed; ends when the recorder has, or with ctx.
		wg.Go(func() {
			if i < fast {
				view(viewing, address, viewer.Options{}, &bytes)
			} else {
				view(viewing, address, viewer.Options{ReadBuffer: 16 << 10, Wrap: trickle}, &atomic.Int64{})
			}
		})
	}
	r, err := b.record(ctx, s, b.gorecord, "--overflow=block", "--http="+address)
	cancel()
	wg.Wait()
	if err == nil && fast > 0 && bytes.Load() == 0 {
		err = errors.New("nobody has viewed anything")
	}
	return viewedResult{r, bytes.Load()}, err
}

// view views all topics of a recorder, once it is there, until it ends, and adds up the bytes of the
// messages.
func view(ctx context.Context, address string, o viewer.Options, bytes *atomic.Int64) {
	var c *viewer.Conn
	for c == nil {
		var err error
		if c, err = viewer.Dial(ctx, address, o); err == nil {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
	stop := context.AfterFunc(ctx, func() { c.Close() }) //nolint:errcheck // the reader notices
	defer stop()
	buf := make([]byte, 0, 1<<20)
	for {
		op, payload, err := c.Read(buf)
		if err != nil {
			return
		}
		switch {
		case op == viewer.OpText:
			if subscribeAll(c, payload) != nil {
				return
			}
		case len(payload) > 13 && payload[0] == 1:
			bytes.Add(int64(len(payload) - 13))
		}
	}
}

// subscribeAll subscribes to the channels that a message advertises.
func subscribeAll(c *viewer.Conn, message []byte) error {
	var m struct {
		Channels []viewer.Channel `json:"channels"`
	}
	if err := json.Unmarshal(message, &m); err != nil || len(m.Channels) == 0 {
		return err
	}
	var all []map[string]uint32
	for _, channel := range m.Channels {
		all = append(all, map[string]uint32{"id": channel.ID, "channelId": channel.ID})
	}
	return c.WriteJSON(map[string]any{"op": "subscribe", "subscriptions": all})
}

// trickle makes a connection read slowRate bytes a second once the handshake is over.
func trickle(c net.Conn) net.Conn { return &trickling{Conn: c} }

type trickling struct {
	net.Conn
	read int
}

// Read reads a tenth of what is due in a second.
func (c *trickling) Read(b []byte) (int, error) {
	if c.read < 2*slowRate { // the handshake and what is offered
		n, err := c.Conn.Read(b[:min(len(b), 2*slowRate-c.read)])
		c.read += n
		return n, err
	}
	<-time.After(time.Second / 10)
	return c.Conn.Read(b[:min(len(b), slowRate/10)])
}

// feedCommand is this program once more: bench feed <address> <messages> <bytes of each>.
const feedCommand = "feed"

// feed writes messages to a socket, which is the least that a server has to do for a viewer.
func feed(address, messages, size string) error {
	count, err := strconv.Atoi(messages)
	if err != nil {
		return err
	}
	bytes, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", address) //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // all is written
	message := make([]byte, bytes)
	for i := range count {
		binary.LittleEndian.PutUint64(message, uint64(i))
		if _, err := c.Write(message); err != nil {
			return err
		}
	}
	return nil
}

// plainSend returns the processor time of a process that writes messages to a socket.
func plainSend(ctx context.Context, messages int64, size int) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed below
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // only accepted from
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, feedCommand, l.Addr().String(), strconv.FormatInt(messages, 10), strconv.Itoa(size))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	c, err := l.Accept()
	if err != nil {
		return 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	defer c.Close() //nolint:errcheck // only read from
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{c}); err != nil {
		return 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	err = cmd.Wait()
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}
