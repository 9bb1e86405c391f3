package plan

import (
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// ownTopics are the resolved names of Options.Own, each with whether the bags have it, too.
type ownTopics map[string]bool

func newOwnTopics(names []string, resolve func(string) (string, error)) (ownTopics, error) {
	own := ownTopics{}
	for _, name := range names {
		resolved, err := resolve(name)
		if err != nil {
			return nil, err
		}
		own[resolved] = false
	}
	return own, nil
}

// has reports whether play itself publishes a topic of the bags, by its resolved name.
func (o ownTopics) has(name string) bool {
	_, own := o[name]
	if own {
		o[name] = true
	}
	return own
}

// report logs which topics were left out of the bags.
func (o ownTopics) report(log *zap.Logger) {
	maps.DeleteFunc(o, func(_ string, recorded bool) bool { return !recorded })
	if len(o) > 0 {
		log.Info("left out of the bags, because goplay itself publishes it; --topics plays it nevertheless", loglimit.Each(),
			zap.Strings("topics", slices.Sorted(maps.Keys(o))))
	}
}
