package main

import (
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/moment"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/rosbag"
)

// selectionOptions sets the options of o that select what is played. o has the bags.
func selectionOptions(c *config.Play, o *player.Options) error {
	o.Topics, o.Types, o.Exclude, o.Deny, o.Regex = c.Topics, c.Type, c.Exclude, c.Deny, c.Regex
	if c.Regex {
		for _, list := range [][]string{c.Topics, c.Exclude, c.Deny, c.WaitFor} {
			program.WarnGlobLike(o.Log, "-e", list)
		}
	}
	o.Rename, o.Prefix = c.Rename, c.Prefix
	o.ByHeader, o.HeaderReach = c.Order == "header", time.Duration(c.OrderReach)
	o.LinkTimeout = time.Duration(c.LinkTimeout)
	o.WaitForSubscribers, o.WaitFor, o.WaitTimeout = c.WaitForSubscribers, c.WaitFor, time.Duration(c.WaitTimeout)
	first, last, ok := player.Span(o.Bags)
	if !ok {
		return nil // Run says so
	}
	marks := player.RecordedMarks(o.Bags)
	var err error
	o.Start, o.Duration, err = c.Part(&moment.Bags{
		First: first.Sub(rosbag.Time{}), Last: last.Sub(rosbag.Time{}),
		Mark: func(text string) (time.Duration, error) {
			m, err := bagnote.Lookup(marks, text)
			return m.Time.Sub(rosbag.Time{}), err
		},
	})
	return err
}
