package main

import (
	"errors"
	"io"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// messages returns what is wanted of the input: of a file in time order, of a pipe in
// the order of the file. Each fault comes once, as an error beside a nil message.
func (s *source) messages(q bagfmt.Query) iter.Seq2[*bagfmt.Message, error] {
	if s.bag != nil {
		return rosbag.Messages(s.bag, q)
	}
	return func(yield func(*bagfmt.Message, error) bool) {
		for {
			m, err := s.pipe.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && (m.Time.Before(q.Start) || q.End != bagfmt.Time{} && q.End.Before(m.Time) || !q.Keep(m.Conn)) {
				continue
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// topics returns the names of the topics of the input, of a pipe those that it has come to.
func (s *source) topics() []string {
	var all []string
	for _, c := range s.connections() {
		all = append(all, c.Topic)
	}
	return all
}

// connections returns the connections of the input, of a pipe those that it has come to.
func (s *source) connections() []*bagfmt.Connection {
	if s.bag != nil {
		return s.bag.Connections()
	}
	return s.pipe.Connections()
}
