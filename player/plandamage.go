package player

import (
	"errors"
	"sort"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
)

// addOpenDamage adds the damage that was found while opening the bag.
func (p *plan) addOpenDamage(b *bagPlan) {
	for _, err := range b.source.Info().Damage {
		if errors.Is(err, rosbag.ErrUnindexed) {
			p.log.Info("bag was not closed, or is still being recorded: played as far as it goes", zap.String("bag", b.name))
			continue
		}
		p.damage = append(p.damage, &control.DamageError{Bag: b.name, Err: err})
	}
}

// damage makes a DamageError of a read error, with the number of lost messages from the
// counts of the span.
func (b *bagPlan) damage(err error) *control.DamageError {
	e := &control.DamageError{Bag: b.name, Err: err}
	offset, ok := source.OffsetOf(err)
	if !ok || e.Lossless() {
		return e
	}
	// The place may be in the index records behind a chunk: the chunk is lost, too.
	behind := sort.Search(b.source.NumSpans(), func(i int) bool { return b.source.Span(i).Pos > offset })
	if behind == 0 {
		return e
	}
	for _, n := range b.source.Span(behind - 1).Counts {
		if b.routes[n.Conn] != nil {
			e.Messages += uint64(n.Count)
		}
	}
	return e
}
