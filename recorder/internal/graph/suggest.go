package graph

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/nearest"
)

// The master is asked for topics with similar names after suggestAfter, then each time after twice
// as long, up to suggestMost: nodes may start after the recorder.
const (
	suggestAfter = 2 * time.Second
	suggestMost  = time.Minute
)

// Suggest logs, once for each of the missing topics that nobody publishes, which topics with similar names
// have publishers: the name may be misspelled. The names are resolved. Suggest returns when there
// is nothing left to suggest, or when ctx is done.
func (g *Graph) Suggest(ctx context.Context, missing []string) {
	slices.Sort(missing)
	missing = slices.Compact(missing)
	named := slices.Clone(missing)
	for wait := suggestAfter; len(missing) > 0; wait = min(2*wait, suggestMost) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		topics, err := g.Node.Master().PublishedTopics(ctx)
		if err != nil {
			continue // the node reports trouble with the master
		}
		var listed, others []string
		for _, t := range topics {
			listed = append(listed, t.Name)
			if !slices.Contains(named, t.Name) && !strings.HasPrefix(t.Name, g.Node.Name()+"/") {
				others = append(others, t.Name)
			}
		}
		missing = slices.DeleteFunc(missing, func(topic string) bool {
			if slices.Contains(listed, topic) {
				return true
			}
			near := nearest.Topics(topic, others)
			if len(near) > 0 {
				g.Log.Warn("nobody publishes this topic; did you mean another?", loglimit.Each(), zap.String("topic", topic), zap.Strings("nearest", near))
			}
			return len(near) > 0
		})
	}
}
