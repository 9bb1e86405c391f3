// Package diff compares two bags: topics, connection headers, the payloads of each
// publisher in their order, and times.
//
// Both bags are read side by side, whatever their size. While both bags agree about a publisher, nothing
// of its messages is kept; from the first difference on, 16 bytes of each message are, of at most maxKept
// messages of all publishers. Publishers for which there is no room are compared in another pass over the
// bags. A publisher that needs more room alone is compared piece by piece. Package align compares what
// was kept. The messages that the report shows are read again.
//
// The packages below are pure: align, headers and fields compare, and report holds the result.
//
// Decisions: ADR 0058.
package diff

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options say what is compared and when it counts as different. The zero value compares
// everything.
type Options struct {
	Keep func(*rosbag.Connection) bool // nil keeps all

	// ByHeader pairs messages whose header.stamp differs by at most Tolerance. Without it,
	// and where messages have no header, they are paired in their order.
	ByHeader  bool
	Tolerance time.Duration

	// Times, if not nil, is how far the times of two messages may differ. Spacing, if not nil, is how far
	// they may differ once the median of all differences is subtracted from each. If both are nil,
	// another time is a difference only where one bag is a copy of the other, so that most messages have
	// the same time in both. Otherwise, as for a recording of playback, the report only says how far the
	// times differ.
	Times, Spacing *time.Duration

	Details int // messages that the report shows in detail
	Workers int // goroutines that unpack chunks of each bag; zero starts none

	// Damaged is called for what cannot be read of a bag. An error that it returns ends Compare, which
	// returns it. If Damaged is nil, only Report.Complete shows that there is damage.
	Damaged func(Side, error) error
}

// Side is one of the two bags.
type Side int

// The bags.
const (
	A Side = iota
	B
)

// other returns the other bag.
func (s Side) other() Side { return 1 - s }

// String returns A or B.
func (s Side) String() string { return [2]string{"A", "B"}[s] }

// Compare compares two bags. Its error is that of ctx or of Options.Damaged.
func Compare(ctx context.Context, a, b rosbag.Source, o Options) (*report.Report, error) {
	c := &comparison{ctx: ctx, o: o, bags: [2]rosbag.Source{a, b}, limit: maxKept}
	return c.compare()
}

// compare makes passes over the bags until all streams are compared.
func (c *comparison) compare() (*report.Report, error) {
	c.seed, c.reported = maphash.MakeSeed(), make(map[string]struct{})
	c.complete = c.intact(A) && c.intact(B)
	c.findTopics()
	inBoth := make(map[*rosbag.Connection]bool)
	for _, t := range c.topics {
		for _, conn := range slices.Concat(t.conns[:]...) {
			inBoth[conn] = len(t.streams) > 0
		}
	}
	c.byTime = !c.o.ByHeader &&
		copies(c.ctx, c.bags, func(conn *rosbag.Connection) bool { return inBoth[conn] })
	var all []*stream
	for _, t := range c.topics {
		all = append(all, t.streams...)
	}
	for todo := all; ; {
		var err error
		if todo, err = c.run(todo); err != nil {
			return nil, err
		}
		if len(todo) == 0 {
			return c.summary(all)
		}
	}
}

// comparison is one call of Compare.
type comparison struct {
	ctx    context.Context //nolint:containedctx // a comparison is one call of Compare, whose ctx this is
	o      Options
	bags   [2]rosbag.Source
	topics []*topic // by name
	seed   maphash.Seed
	limit  int // the most messages to keep
	passes int // so far

	byTime   bool                // one bag is a copy of a part of the other, see copies
	complete bool                // all of both bags could be read so far
	reported map[string]struct{} // damage that Damaged was called for: further passes find the same
}

// intact reports whether all that is compared could be found when the bag was opened.
func (c *comparison) intact(s Side) bool {
	for _, err := range c.bags[s].Info().Damage {
		if Loses(err) && rosbag.Concerns(err, c.o.Keep) {
			return false
		}
	}
	return true
}

// Loses reports whether an error of a Source means that messages are missing, or may be.
func Loses(err error) bool {
	var bad *rosbag.CorruptError
	if errors.As(err, &bad) && bad.Recovered {
		return false
	}
	return !errors.Is(err, rosbag.ErrUnindexed)
}

// damaged calls Damaged for an error of reading, once for each error. It returns the error that ends the
// comparison.
func (c *comparison) damaged(s Side, err error) error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	const most = 10_000
	key := s.String() + err.Error()
	if _, known := c.reported[key]; known {
		return nil
	}
	if len(c.reported) < most {
		c.reported[key] = struct{}{}
	}
	if Loses(err) {
		c.complete = false
	}
	if c.o.Damaged == nil {
		return nil
	}
	return c.o.Damaged(s, err)
}
