package main

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/recorder"
)

// limitSettings are the limits of single topics, by name or glob.
type limitSettings struct {
	maxRate      map[string]float64
	every, count map[string]int
}

func (l *limitSettings) group(o *recorder.Options) config.Group {
	rules := func() []config.Rule {
		return []config.Rule{{
			Bad: o.Limit < 0, Options: []string{"limit"}, // a rule, so that the next one is checked as well
			Reason: "Limit must be 0 or positive: a number of messages for each topic; 0 is no limit",
		}, {
			Bad: o.Limit != 0 && len(o.Select.Topics) == 0, Options: []string{"limit"},
			Reason: "Specifying a count is not valid with automatic topic subscription. Name the topics, or leave --limit out",
		}}
	}
	return config.Group{Title: "Limit each topic", Rules: rules, Options: []config.Option{
		{Name: "limit", Short: "l", Arg: "N", Stock: true, Value: config.To(&o.Limit, units.Int), Help: `
			Record N messages of each topic, then end.`},
		{Name: "max-rate", Arg: "TOPIC=HZ", Value: config.Pairs(&l.maxRate, units.Float, checkLimit), Help: `
			Record at most this many messages a second of a topic, or of each topic that a glob matches. May be given several
			times.`},
		{Name: "every", Arg: "TOPIC=N", Value: config.Pairs(&l.every, units.Int, checkLimit), Help: `
			Record only each Nth message of a topic, or of each topic that a glob matches. May be given several times.`},
		{Name: "count", Arg: "TOPIC=N", Value: config.Pairs(&l.count, units.Int, checkLimit), Help: `
			Record only N messages of a topic, or of each topic that a glob matches. May be given several times.`},
	}}
}

// checkLimit checks the limit of a topic.
func checkLimit[N int | float64](topic string, n N) error {
	if good := topic != "" && n > 0 && n <= 1e9; !good { // NaN is not good either
		return errors.New("want TOPIC=N with a positive N, of at most 1e9")
	}
	return topicmatch.CheckGlob(topic)
}

// all returns the limits. Of several that match one topic the longest text says most.
func (l *limitSettings) all() []recorder.Limit {
	var all []recorder.Limit
	for _, topic := range slices.Sorted(maps.Keys(l.maxRate)) {
		all = append(all, recorder.Limit{Topics: topic, MaxRate: l.maxRate[topic]})
	}
	for _, topic := range slices.Sorted(maps.Keys(l.every)) {
		all = append(all, recorder.Limit{Topics: topic, Every: l.every[topic]})
	}
	for _, topic := range slices.Sorted(maps.Keys(l.count)) {
		all = append(all, recorder.Limit{Topics: topic, Count: l.count[topic]})
	}
	slices.SortStableFunc(all,
		func(a, b recorder.Limit) int { return cmp.Compare(len(a.Topics), len(b.Topics)) })
	return all
}
