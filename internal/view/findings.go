package view

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gorosbag/gorosbag/internal/bags/gaps"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/view/kept"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/request"
	"github.com/gorosbag/gorosbag/rosbag"
)

// findingState is what gobag gaps says of a topic for a time.
type findingState struct {
	Topic string  `json:"topic"`
	Kind  string  `json:"kind"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Text  string  `json:"text"`
}

// maxFound is the most messages whose times are read to find what is wrong with topics: a few seconds.
// Beyond that, and in a store, where each chunk is a request, gobag gaps does it.
const maxFound = 20_000_000

// canceled is a recording whose indexes are read until ctx ends.
type canceled struct {
	rosbag.Indexed
	ctx context.Context //nolint:containedctx // that of one request
}

// Index implements rosbag.Indexed.
func (c canceled) Index(i int, keep func(*rosbag.Connection) bool) ([]rosbag.Entry, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	return c.Indexed.Index(i, keep)
}

// findings answers with what gobag gaps finds, of each file.
func (v *Viewer) findings(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	key := "findings " + r.FormValue("bag")
	answer, known := v.plots.Get(key)
	if !known {
		all, err := find(r.Context(), s)
		if err != nil {
			return err
		}
		b, err := json.Marshal(all)
		if err != nil {
			return err
		}
		answer = kept.Answer{Key: key, Body: b}
		v.plots.Put(answer)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer.Body) // whoever has gone does not need it
	return nil
}

func find(ctx context.Context, s *recorded.Set) ([]findingState, error) {
	all := []findingState{}
	if s.Count > maxFound {
		return all, nil
	}
	for _, f := range s.Files {
		if store.Remote(f.Name) {
			continue
		}
		// damage is told elsewhere
		report, err := gaps.Find(canceled{f.Source, ctx},
			gaps.Options{Damaged: func(error) error { return ctx.Err() }})
		if err != nil {
			return nil, err
		}
		for i := range report.Episodes {
			e := &report.Episodes[i]
			from := request.Seconds(s, e.Start)
			all = append(all,
				findingState{
					Topic: e.Topic, Kind: e.Kind.Key(), From: from, To: from + e.For.Seconds(),
					Text: e.Says(),
				})
		}
	}
	return all, nil
}
