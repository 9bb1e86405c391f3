package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/recorder"
)

// limits translates the limits of single topics. Of several that match one topic the
// longest text says most.
func limits(c *config.Record) []recorder.Limit {
	var all []recorder.Limit
	for _, topic := range slices.Sorted(maps.Keys(c.MaxRate)) {
		all = append(all, recorder.Limit{Topics: topic, MaxRate: c.MaxRate[topic]})
	}
	for _, topic := range slices.Sorted(maps.Keys(c.Every)) {
		all = append(all, recorder.Limit{Topics: topic, Every: c.Every[topic]})
	}
	for _, topic := range slices.Sorted(maps.Keys(c.Count)) {
		all = append(all, recorder.Limit{Topics: topic, Count: c.Count[topic]})
	}
	slices.SortStableFunc(all, func(a, b recorder.Limit) int { return cmp.Compare(len(a.Topics), len(b.Topics)) })
	return all
}
