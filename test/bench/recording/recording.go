//go:build linux

// Package recording has the rows of recording: gorecord beside stock's rosbag record and beside a plain
// copy. docs/performance.md says what they mean.
package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/load"
)

// recording is a recorder at work.
type recording struct {
	*station.Station
	flow *flow
}

// prepare makes a graph and advertises the load in it.
func prepare(ctx context.Context, b *station.Bench, streams []stream) (_ *recording, err error) {
	s, err := b.Station(ctx)
	if err != nil {
		return nil, err
	}
	r := &recording{Station: s}
	if r.flow, err = advertise(ctx, s.Master, streams); err != nil {
		return nil, errors.Join(err, s.Master.Close())
	}
	return r, nil
}

// Remove ends what is left of the recording and deletes its bags.
func (r *recording) Remove() error { return errors.Join(r.flow.close(), r.Station.Remove()) }

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
	sent := r.flow.topics()
	seen := map[string][]bool{}
	counts := map[string]int{}
	for all.HasNext() {
		m, err := all.Next()
		if err != nil {
			return nil, err
		}
		topic := m.Conn.Topic
		if !slices.Contains(sent, topic) {
			continue // the recorder's own
		}
		n := load.Number(m.Conn.Header.Type(), m.Data())
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
func (r *recording) bags() ([]string, error) { return filepath.Glob(filepath.Join(r.Dir, "*.bag")) }
