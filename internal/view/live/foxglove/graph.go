package foxglove

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

// graphCache holds the connection graph for all viewers that want it.
type graphCache struct {
	turn chan struct{} // holds a token while the graph is read or returned: guards the rest
	at   time.Time
	last live.Graph
	err  error
}

func newGraphCache() graphCache { return graphCache{turn: make(chan struct{}, 1)} }

// get returns the graph, and reads it from the master if the stored graph is older than maxAge.
func (c *graphCache) get(ctx context.Context, maxAge time.Duration,
	read func(context.Context) (live.Graph, error),
) (live.Graph, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return live.Graph{}, ctx.Err()
	}
	if c.at.IsZero() || time.Since(c.at) >= maxAge {
		last, err := read(ctx)
		if ctx.Err() != nil {
			return live.Graph{}, ctx.Err()
		}
		c.last, c.err, c.at = last, err, time.Now()
	}
	return c.last, c.err
}

// watchGraph sends the graph and its changes until ctx ends.
func (s *session) watchGraph(ctx context.Context) {
	told, failed := live.Graph{}, false
	for first := true; ; first = false {
		graph, err := s.server.graph.get(ctx, s.server.timing.graph, s.server.source.Graph)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failed:
			s.send(ctx, encodeStatus(levelWarning, graphFailed, graphFailedID))
		case err == nil:
			if failed {
				s.send(ctx, encodeRemoveStatus(graphFailedID))
			}
			if update, changed := compare(told, graph); changed || first {
				s.send(ctx, encode(update))
			}
			told = graph
		}
		failed = err != nil
		select {
		case <-time.After(s.server.timing.graph):
		case <-ctx.Done():
		}
	}
}

// compare returns the update that changes one graph to another.
func compare(old, now live.Graph) (u graphUpdate, changed bool) {
	u = graphUpdate{
		Op: "connectionGraphUpdate", Published: []publishedBy{}, Subscribed: []subscribedBy{},
		Services: []providedBy{}, Topics: []string{}, Gone: []string{},
	}
	for name, nodes := range different(old.Publishers, now.Publishers) {
		u.Published = append(u.Published, publishedBy{name, nodes})
	}
	for name, nodes := range different(old.Subscribers, now.Subscribers) {
		u.Subscribed = append(u.Subscribed, subscribedBy{name, nodes})
	}
	for name, nodes := range different(old.Services, now.Services) {
		if len(nodes) == 0 {
			u.Gone = append(u.Gone, name)
			continue
		}
		u.Services = append(u.Services, providedBy{name, nodes})
	}
	// A topic is removed when it has neither publishers nor subscribers.
	for _, name := range slices.Sorted(maps.Keys(old.Publishers)) {
		if now.Publishers[name] == nil && now.Subscribers[name] == nil {
			u.Topics = append(u.Topics, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old.Subscribers)) {
		if now.Publishers[name] == nil && now.Subscribers[name] == nil && old.Publishers[name] == nil {
			u.Topics = append(u.Topics, name)
		}
	}
	return u, len(u.Published)+len(u.Subscribed)+len(u.Services)+len(u.Topics)+len(u.Gone) > 0
}

// different yields the names whose nodes differ, with their nodes now, in order.
func different(old, now map[string][]string) func(yield func(string, []string) bool) {
	return func(yield func(string, []string) bool) {
		names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if slices.Equal(old[name], now[name]) {
				continue
			}
			nodes := now[name]
			if nodes == nil {
				nodes = []string{}
			}
			if !yield(name, nodes) {
				return
			}
		}
	}
}
