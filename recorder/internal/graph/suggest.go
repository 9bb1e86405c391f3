package graph

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/tcpros"
)

// The master is asked for topics with similar names after suggestAfter, then each time after twice
// as long, up to suggestMost: nodes may start after the recorder.
const (
	suggestAfter = 2 * time.Second
	suggestMost  = time.Minute
)

// Suggest logs a warning about each topic that nobody publishes, if a published topic has a similar name,
// and about each pattern that selects no topic: they may be misspelled. missing are resolved names.
// Suggest returns when there is nothing left to warn of, or when ctx is done.
func (g *Graph) Suggest(ctx context.Context, missing []string) {
	s := g.newSuggestions(missing)
	for wait := suggestAfter; !s.done(); wait = min(2*wait, suggestMost) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		// the node logs that the master is away
		if topics, err := g.Node.Master().PublishedTopics(ctx); err == nil {
			s.look(topics)
		}
	}
}

// suggestions has the topics and patterns that Suggest may still warn of.
type suggestions struct {
	*Graph
	named    []string // topics that the user named, whether they are published or not
	missing  []string // those of named that were neither listed nor warned of
	patterns []string // patterns that have selected no topic, and were not warned of
}

func (g *Graph) newSuggestions(missing []string) *suggestions {
	missing = slices.Compact(slices.Sorted(slices.Values(missing)))
	return &suggestions{Graph: g, named: missing, missing: slices.Clone(missing), patterns: g.Unmatched()}
}

// done reports whether there is nothing left to warn of.
func (s *suggestions) done() bool { return len(s.missing)+len(s.patterns) == 0 }

// look warns of topics and patterns that are not among the topics that the master lists.
func (s *suggestions) look(topics []tcpros.TopicInfo) {
	var listed, others, types []string
	for _, t := range topics {
		listed = append(listed, t.Name)
		types = append(types, t.Type)
		if !slices.Contains(s.named, t.Name) && !OfNode(s.Node, t.Name) {
			others = append(others, t.Name)
		}
		s.Selects(t.Name, t.Type) // a topic may be newer than the last round of discovery
	}
	s.missing = slices.DeleteFunc(s.missing, func(topic string) bool {
		if slices.Contains(listed, topic) {
			return true
		}
		near := wording.NearestTopics(topic, others)
		if len(near) > 0 {
			s.Log.Warn("nobody publishes this topic; did you mean another?", loglimit.Each(),
				zap.String("topic", topic), zap.Strings("nearest", near))
		}
		return len(near) > 0
	})
	unmatched := s.Unmatched()
	s.patterns = slices.DeleteFunc(s.patterns, func(p string) bool { return !slices.Contains(unmatched, p) })
	if !slices.ContainsFunc(others, func(topic string) bool { return !isLog(topic) }) {
		return // no node of the robot has started
	}
	slices.Sort(types)
	for _, p := range s.patterns {
		near := wording.NearestTopics(wildcards().ReplaceAllString(p, ""),
			slices.Concat(others, slices.Compact(types)))
		if len(near) > 0 {
			s.Log.Warn("this pattern selects no topic yet; did you mean another?", loglimit.Each(),
				zap.String("pattern", p), zap.Strings("nearest", near))
		} else {
			s.Log.Warn("this pattern selects no topic yet", loglimit.Each(), zap.String("pattern", p))
		}
	}
	s.patterns = nil
}

// wildcards matches the parts of a glob or a regular expression that are not parts of a name.
var wildcards = lazyre.New(`\[[^\]]*\]|[^\w/]`)

// isLog reports whether a topic is one of those that every graph has.
func isLog(topic string) bool { return topic == "/rosout" || topic == "/rosout_agg" }
