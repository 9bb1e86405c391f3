package plan

import (
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
)

// ownTopics are the topics of Options.Own, each with whether the bags have it, too.
type ownTopics map[topicname.InGraph]bool

func newOwnTopics(names []string, resolve func(string) (string, error)) (ownTopics, error) {
	own := ownTopics{}
	for _, name := range names {
		resolved, err := resolve(name)
		if err != nil {
			return nil, err
		}
		own[topicname.InGraph(resolved)] = false
	}
	return own, nil
}

// has reports whether play itself publishes a topic of the bags.
func (o ownTopics) has(name topicname.InGraph) bool {
	_, own := o[name]
	if own {
		o[name] = true
	}
	return own
}

// report logs which topics were left out of the bags.
func (o ownTopics) report(log *zap.Logger) {
	var recorded []string
	for name, is := range o {
		if is {
			recorded = append(recorded, string(name))
		}
	}
	if len(recorded) > 0 {
		slices.Sort(recorded)
		log.Info("left out of the bags, because goplay itself publishes it; --topics plays it nevertheless",
			loglimit.Each(),
			zap.Strings("topics", recorded))
	}
}
