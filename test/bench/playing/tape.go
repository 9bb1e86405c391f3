//go:build linux

// Package playing has the rows of playing: goplay beside stock's rosbag play, and beside a thread that
// sleeps and writes.
package playing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/load"
	"github.com/gorosbag/gorosbag/test/probe"
)

// playPatience is for one run of a player.
const playPatience = 3 * time.Minute

// tape is what a bag to play holds.
type tape struct {
	topics, size int
	count        int           // messages of each topic
	period       time.Duration // between those of a topic; topics are spread over it
	compression  rosbag.Compression
	chunkBytes   int // zero means the default
}

func (t tape) names() []string {
	names := make([]string, t.topics)
	for i := range names {
		names[i] = fmt.Sprintf("/load%d", i)
	}
	return names
}

// write makes the bag and closes its file.
func (t tape) write(f *os.File) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{Compression: t.compression, ChunkBytes: t.chunkBytes, Workers: 2})
	if err != nil {
		return err
	}
	var conns []*rosbag.Connection
	for _, topic := range t.names() {
		c, err := w.AddConnection(topic, load.Header(topic))
		if err != nil {
			return err
		}
		conns = append(conns, c)
	}
	data := make([]byte, t.size)
	load.Fill(data)
	start := rosbag.Time{Sec: 1_600_000_000}
	for n := range t.count {
		for i, c := range conns {
			due := t.period*time.Duration(n) + t.period*time.Duration(i)/time.Duration(t.topics)
			probe.Payload(data, n, due)
			if err := w.Write(c, start.Add(due), data); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// use makes a bag, has it used and deletes it.
func (t tape) use(b *station.Bench, do func(bag string) error) error {
	f, err := os.CreateTemp(b.Dir, "tape*.bag")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // in our temporary directory
	if err := t.write(f); err != nil {
		return err
	}
	return do(f.Name())
}

// play runs a player of a bag and has its subscriber do what it does while it plays.
// It returns when both have ended.
func play(ctx context.Context, b *station.Bench, program string, args []string, subscriber func(ctx context.Context, s *station.Station) error) (_ station.Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	s, err := b.Station(ctx)
	if err != nil {
		return station.Usage{}, err
	}
	defer func() { err = errors.Join(err, s.Remove()) }()
	if err := s.Start(ctx, append([]string{program}, args...)...); err != nil {
		return station.Usage{}, err
	}
	if err := subscriber(ctx, s); err != nil {
		return station.Usage{}, fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, tail(s.Out.String()))
	}
	return s.Wait()
}

// tail returns the end of what a player has printed: stock prints its state for each
// message.
func tail(out string) string { return out[max(0, len(out)-2000):] }

// connect subscribes to topics in the graph.
func connect(ctx context.Context, s *station.Station, name string, topics ...string) ([]*probe.Link, error) {
	return probe.Connect(ctx, s.Master.Addr().String(), name, topics...)
}
