//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
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

// write makes the bag.
func (t tape) write(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
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

// withTape makes a bag, has it used and deletes it.
func (b *bench) withTape(t tape, use func(bag string) error) error {
	b.stations++
	path := filepath.Join(b.dir, fmt.Sprintf("tape%d.bag", b.stations))
	defer os.Remove(path) //nolint:errcheck // in our temporary directory
	if err := t.write(path); err != nil {
		return err
	}
	return use(path)
}

// play runs a player of a bag and has its subscriber do what it does while it plays.
// It returns when both have ended.
func (b *bench) play(ctx context.Context, program string, args []string, subscriber func(ctx context.Context, s *station) error) (_ usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	s, err := b.station(ctx)
	if err != nil {
		return usage{}, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	if err := s.start(ctx, append([]string{program}, args...)...); err != nil {
		return usage{}, err
	}
	if err := subscriber(ctx, s); err != nil {
		return usage{}, fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, tail(s.out.String()))
	}
	return s.wait()
}

// tail returns the end of what a player has printed: stock prints its state for each
// message.
func tail(out string) string { return out[max(0, len(out)-2000):] }

// connect subscribes to topics in the graph.
func (s *station) connect(ctx context.Context, name string, topics ...string) ([]*probe.Link, error) {
	return probe.Connect(ctx, s.master.Addr().String(), name, topics...)
}
