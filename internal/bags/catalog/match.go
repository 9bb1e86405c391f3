package catalog

import (
	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
)

// Matches reports whether an expression holds for a bag and at least one of its topics, or for a bag
// without any.
func (s *Summary) Matches(p *expr.BagProgram) (bool, error) {
	b := &expr.Bag{
		Bag: s.Bag, Robot: s.Robot, Size: s.Size, Start: s.Start, End: s.End, Duration: s.End - s.Start,
		Messages: s.Messages, Notes: s.Notes, Marks: s.Marks,
	}
	for _, t := range s.Topics {
		b.Topics, b.Types = append(b.Topics, topicmatch.Rooted(t.Topic)), append(b.Types, t.Type)
	}
	if len(s.Topics) == 0 {
		return p.Matches(b)
	}
	for _, t := range s.Topics {
		b.Topic, b.Type = topicmatch.Rooted(t.Topic), t.Type
		if ok, err := p.Matches(b); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
