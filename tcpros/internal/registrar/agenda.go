package registrar

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/queue/placeheap"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// agenda orders the registrations by urgency, so that the most urgent one is found without a look
// at all others. book.mu guards it.
type agenda struct {
	// ADR 0054: a graph of 10,000 topics takes minutes to register.
	due   placeheap.Heap[*entry] // entries that need a call now; the most urgent first
	later placeheap.Heap[*entry] // entries that need a call at a later time; the earliest first

	added        uint64 // number of entries that were ever added: their order
	onlyRemovals bool   // another node has our name: nothing is registered
	compared     uint64 // entries compared with each other so far: the cost, which tests bound
}

func newAgenda() *agenda {
	a := &agenda{}
	moved := func(e *entry, slot int) { e.at.slot = slot }
	a.due.Moved, a.later.Moved = moved, moved
	a.due.Before = func(x, y *entry) bool {
		a.compared++
		switch {
		case x.at.rank != y.at.rank:
			return x.at.rank > y.at.rank
		case x.at.priority != y.at.priority:
			return x.at.priority < y.at.priority
		}
		return x.at.order < y.at.order
	}
	a.later.Before = func(x, y *entry) bool {
		a.compared++
		return x.at.dueAt.Before(y.at.dueAt)
	}
	return a
}

// agendaState is the state of one entry in the agenda.
type agendaState struct {
	priority int    // among entries of equal urgency, the lower priority goes first
	order    uint64 // among entries of equal priority, the entry that was added first goes first

	rank  int // urgency at the last update
	dueAt time.Time
	waits *placeheap.Heap[*entry] // the heap that has the entry; nil if none has
	slot  int                     // index of the entry in that heap
}

// add sets the place of e among equally urgent entries.
func (a *agenda) add(e *entry, priority int) {
	e.at.priority, e.at.order = priority, a.added
	a.added++
}

// update moves e to the heap that its present state demands. Call update after each change of e.
func (a *agenda) update(e *entry, now time.Time, updateEvery time.Duration) {
	rank, at := 0, time.Time{}
	if e.removed || !a.onlyRemovals {
		rank, at = e.urgency(now, updateEvery)
	}
	var to *placeheap.Heap[*entry]
	switch {
	case rank > 0:
		to = &a.due
	case !at.IsZero():
		to = &a.later
	}
	if e.at.waits == to && e.at.rank == rank && e.at.dueAt.Equal(at) {
		return
	}
	a.drop(e)
	e.at.rank, e.at.dueAt = rank, at
	if to != nil {
		to.Add(e)
		e.at.waits = to
	}
}

// drop removes e from the agenda.
func (a *agenda) drop(e *entry) {
	if e.at.waits != nil {
		e.at.waits.Remove(e.at.slot)
		e.at.waits = nil
	}
}

// next returns the most urgent entry that is due. If none is due, next returns the time when the
// next entry is due, or zero if no entry ever is.
func (a *agenda) next(now time.Time, updateEvery time.Duration) (*entry, time.Time) {
	for a.later.Len() > 0 && !a.later.List[0].at.dueAt.After(now) {
		e := a.later.List[0]
		a.drop(e)
		a.update(e, now, updateEvery)
	}
	if a.due.Len() > 0 {
		return a.due.List[0], time.Time{}
	}
	if a.later.Len() > 0 {
		return nil, a.later.List[0].at.dueAt
	}
	return nil, time.Time{}
}

// urgency returns a positive rank if the entry is due now, and otherwise the time when the entry is
// due. urgency adds an update token each UpdateEvery.
func (e *entry) urgency(now time.Time, updateEvery time.Duration) (rank int, due time.Time) {
	switch {
	case e.update.pending != nil && e.registered && !e.removed:
		if refill := int(now.Sub(e.update.refilledAt) / updateEvery); refill > 0 {
			e.update.tokens, e.update.refilledAt = min(e.update.tokens+refill, updateBurst), now
		}
		if e.update.tokens > 0 {
			return 5, due
		}
		return 0, e.update.refilledAt.Add(updateEvery)
	case now.Before(e.notBefore):
		return 0, e.notBefore
	case e.removed && e.tried:
		return 4, due
	case e.removed:
		return 0, due
	case !e.registered && e.key.Kind != rosapi.Service:
		return 3, due
	case !e.registered: // a service is less urgent: its callers can wait, while messages of topics are lost
		return 2, due
	case e.refresh:
		return 1, due
	}
	return 0, due
}
