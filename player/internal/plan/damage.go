package plan

import (
	"errors"
	"sort"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
)

// addOpenDamage adds the damage that was found while opening the bag.
func (p *Plan) addOpenDamage(b *Bag) {
	for _, err := range b.Source.Info().Damage {
		if errors.Is(err, rosbag.ErrUnindexed) {
			p.Log.Info("bag was not closed, or is still being recorded: played as far as it goes",
				zap.String("bag", b.Name))
			continue
		}
		p.Damage = append(p.Damage, &control.DamageError{Bag: b.Name, Err: err})
	}
	for _, note := range b.Source.Info().Notes {
		p.Log.Info("what is worth knowing of a bag", zap.String("bag", b.Name), zap.Error(note))
	}
}

// Damage makes a DamageError of a read error, with the number of lost messages from the
// counts of the span.
func (b *Bag) Damage(err error) *control.DamageError {
	e := &control.DamageError{Bag: b.Name, Err: err}
	offset, ok := source.OffsetOf(err)
	if !ok || e.Lossless() {
		return e
	}
	// The place may be in the index records after a chunk: the chunk is lost, too.
	next := sort.Search(b.Source.NumSpans(), func(i int) bool { return b.Source.Span(i).Pos > offset })
	if next == 0 {
		return e
	}
	for _, n := range b.Source.Span(next - 1).Counts {
		if b.Routes[n.Conn] != nil {
			e.Messages += uint64(n.Count)
		}
	}
	return e
}
