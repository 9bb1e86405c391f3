package recorder

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

// suggest logs, once for each topic that is recorded or watched by its name and that nobody
// publishes, which topics with similar names have publishers: the name may be misspelled. It returns
// when there is nothing left to suggest, or when ctx is done.
func (r *session) suggest(ctx context.Context) {
	var missing []string // resolved
	for _, name := range r.Select.literal {
		if resolved, err := r.Node.Resolve(name); err == nil {
			missing = append(missing, resolved)
		}
	}
	if r.Watch != nil {
		missing = append(missing, r.Watch.Topics()...)
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	named := slices.Clone(missing)
	for wait := suggestAfter; len(missing) > 0; wait = min(2*wait, suggestMost) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		topics, err := r.Node.Master().PublishedTopics(ctx)
		if err != nil {
			continue // the node reports trouble with the master
		}
		var listed, others []string
		for _, t := range topics {
			listed = append(listed, t.Name)
			if !slices.Contains(named, t.Name) && !strings.HasPrefix(t.Name, r.Node.Name()+"/") {
				others = append(others, t.Name)
			}
		}
		missing = slices.DeleteFunc(missing, func(topic string) bool {
			if slices.Contains(listed, topic) {
				return true
			}
			near := nearest.Topics(topic, others)
			if len(near) > 0 {
				r.Log.Warn("nobody publishes this topic; did you mean another?", loglimit.Each(), zap.String("topic", topic), zap.Strings("nearest", near))
			}
			return len(near) > 0
		})
	}
}
