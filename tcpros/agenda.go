package tcpros

import (
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// agenda orders the registrations by what has to be done next, so that finding the next one
// does not mean looking at all of them. registrar.mu guards it.
type agenda struct {
	due   placeHeap[*regEntry] // need a call now; the most urgent first
	later placeHeap[*regEntry] // need one at a time to come; the earliest first

	added        uint64 // number of entries that were ever added: their order
	onlyRemovals bool   // another node has our name: nothing is registered
	compared     uint64 // entries compared with each other so far: the cost, which tests bound
}

func newAgenda() *agenda {
	a := &agenda{}
	moved := func(e *regEntry, slot int) { e.slot = slot }
	a.due.moved, a.later.moved = moved, moved
	a.due.before = func(x, y *regEntry) bool {
		a.compared++
		switch {
		case x.rank != y.rank:
			return x.rank > y.rank
		case x.priority != y.priority:
			return x.priority < y.priority
		}
		return x.order < y.order
	}
	a.later.before = func(x, y *regEntry) bool {
		a.compared++
		return x.dueAt.Before(y.dueAt)
	}
	return a
}

// agendaState is what the agenda knows of one entry.
type agendaState struct {
	priority int    // of equal urgency: the lower goes first
	order    uint64 // of equal priority: the one that was added first goes first

	rank  int // urgency at the last update
	dueAt time.Time
	waits *placeHeap[*regEntry] // that has the entry; nil if none
	slot  int                   // its place there
}

// add gives e its place in the order of those that are equally urgent.
func (a *agenda) add(e *regEntry, priority int) {
	e.priority, e.order = priority, a.added
	a.added++
}

// update puts e where its present state belongs. It has to follow each change of e.
func (a *agenda) update(e *regEntry, now time.Time, updateEvery time.Duration) {
	rank, at := 0, time.Time{}
	if e.removed || !a.onlyRemovals {
		rank, at = e.urgency(now, updateEvery)
	}
	var to *placeHeap[*regEntry]
	switch {
	case rank > 0:
		to = &a.due
	case !at.IsZero():
		to = &a.later
	}
	if e.waits == to && e.rank == rank && e.dueAt.Equal(at) {
		return
	}
	a.drop(e)
	e.rank, e.dueAt = rank, at
	if to != nil {
		to.add(e)
		e.waits = to
	}
}

// drop takes e off the agenda.
func (a *agenda) drop(e *regEntry) {
	if e.waits != nil {
		e.waits.remove(e.slot)
		e.waits = nil
	}
}

// next returns the most urgent entry that is due, or else when the next one is due; zero if
// none ever is.
func (a *agenda) next(now time.Time, updateEvery time.Duration) (*regEntry, time.Time) {
	for a.later.Len() > 0 && !a.later.list[0].dueAt.After(now) {
		e := a.later.list[0]
		a.drop(e)
		a.update(e, now, updateEvery)
	}
	if a.due.Len() > 0 {
		return a.due.list[0], time.Time{}
	}
	if a.later.Len() > 0 {
		return nil, a.later.list[0].dueAt
	}
	return nil, time.Time{}
}

// urgency returns a positive rank if the entry is due now, or else when it is due. It adds an
// update token each updateEvery.
func (e *regEntry) urgency(now time.Time, updateEvery time.Duration) (rank int, due time.Time) {
	switch {
	case e.pendingUpdate != nil && e.registered && !e.removed:
		if refill := int(now.Sub(e.refilledAt) / updateEvery); refill > 0 {
			e.updateTokens, e.refilledAt = min(e.updateTokens+refill, updateBurst), now
		}
		if e.updateTokens > 0 {
			return 5, due
		}
		return 0, e.refilledAt.Add(updateEvery)
	case now.Before(e.notBefore):
		return 0, e.notBefore
	case e.removed && e.tried:
		return 4, due
	case e.removed:
		return 0, due
	case !e.registered && e.key.Kind != rosapi.Service:
		return 3, due
	case !e.registered: // callers of a service can wait; messages are lost
		return 2, due
	case e.refresh:
		return 1, due
	}
	return 0, due
}
