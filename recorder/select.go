package recorder

import (
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
)

// Selection says which topics to record. The parts add up.
type Selection struct {
	// by name or as globs, or with Regex as expressions
	Topics []string
	// every topic that has a publisher, now or later
	All bool
	// Topics are regular expressions that match a whole name
	Regex bool
	// expressions: leave out topics that match as a whole; not applied to Topics by name
	Exclude []string
	// every topic of these types, which may be globs
	Types []string
	// every topic that these nodes subscribe to
	Nodes []string
	// every topic that these nodes publish
	NodePublications []string

	literal  []topicname.InBag   // topics that are named in full
	resolved []topicname.InGraph // the same topics
	include  topicmatch.Set      // of names
	types    topicmatch.Set
	exclude  topicmatch.Set
}

// compile checks the selection and prepares it for use. namespace is where relative
// globs look, with a slash at its end.
func (s *Selection) compile(namespace string) error {
	var err error
	if s.exclude, err = topicmatch.Regexes("exclude regex", s.Exclude...); err != nil {
		return err
	}
	s.types = topicmatch.Globs(s.Types...)
	if s.Regex {
		if s.include, err = topicmatch.Regexes("topic regex", s.Topics...); err != nil {
			return err
		}
	} else {
		for _, t := range s.Topics {
			if !topicmatch.IsGlob(t) {
				s.literal = append(s.literal, topicname.InBag(t))
				continue
			}
			g := topicmatch.Glob(t)
			if !strings.HasPrefix(t, "/") {
				g = topicmatch.Glob(namespace + t)
				g.Text = t
			}
			s.include = append(s.include, g)
		}
	}
	if len(s.literal) == 0 && !s.polls() {
		return fmt.Errorf("no topics specified")
	}
	return nil
}

// lists reports whether the selection needs the master's list of topics.
func (s *Selection) lists() bool { return s.All || len(s.include) > 0 || len(s.types) > 0 }

// polls reports whether the selection needs to ask the master or nodes repeatedly.
func (s *Selection) polls() bool {
	return s.lists() || len(s.Nodes) > 0 || len(s.NodePublications) > 0
}

// selects decides about a topic that the master lists.
func (s *Selection) selects(topic, typ string) bool {
	if s.exclude.Match(topic) {
		return false
	}
	byName, byType := s.include.Match(topic), s.types.Match(typ)
	return s.All || byName || byType
}

// maySelect reports whether a topic may be recorded although it is not named in full. Whether a type or a
// node selects the topic is known only when the topic has a publisher.
func (s *Selection) maySelect(resolved topicname.InGraph) bool {
	topic := string(resolved)
	unknown := len(s.types)+len(s.Nodes)+len(s.NodePublications) > 0
	return !s.exclude.Covers(topic) && (s.All || unknown || s.include.Covers(topic))
}

// unmatched returns the expressions, globs and types that no topic has matched.
func (s *Selection) unmatched() []string {
	return append(s.include.Unmatched(), s.types.Unmatched()...)
}
