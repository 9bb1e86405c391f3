package recorder

import (
	"fmt"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
)

// Limit says how much of some topics is recorded. Several limits of one topic hold
// together; of one kind the last one counts. Zero values mean no limit.
type Limit struct {
	Topics  string  // a name, or a glob; a name that is not absolute matches the end of topics
	MaxRate float64 // messages a second
	Every   int     // only each Nth message
	Count   int     // end with the topic after this many
}

func (l Limit) check() error {
	if l.Topics == "" || !(l.MaxRate >= 0) || l.MaxRate > 1e9 || l.Every < 0 || l.Count < 0 {
		return fmt.Errorf("limit of %q: want a topic and a positive number", l.Topics)
	}
	return nil
}

// limits returns all limits, that of all topics first.
func (o *Options) limits() []account.Limit {
	all := []account.Limit{{Topics: "**", Count: o.Limit}}
	for _, l := range o.Limits {
		all = append(all, account.Limit(l))
	}
	return all
}
