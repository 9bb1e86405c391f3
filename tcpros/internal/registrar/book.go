package registrar

import (
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// entry is one registration: the desired state, and the state at the master.
type entry struct {
	key     rosapi.Key
	typ     string
	sub     Listener // the subscription; nil for other kinds
	removed bool     // closed by the node, to be unregistered

	at             agendaState
	tried          bool // a call was sent: the entry may be registered
	registered     bool
	everRegistered bool      // registered at least once: from then on a service respects another provider
	takenOver      bool      // another node provides the service
	notBefore      time.Time // earliest time of the next call; zero means now

	retryLinks bool // the master was away: waiting links retry at once
	update     updates
	confirmed  []string // the last list of publishers from the master

	refresh    bool      // request the list from the master
	answeredAt time.Time // when the master confirmed the registration last
	nodeNames  string    // nodes of the publishers at the last comparison

	compared  bool      // nodeNames is set
	changedAt time.Time // when a comparison found a change without a PublisherUpdate; zero if none
}

// updates are the publisherUpdates of a subscription.
type updates struct {
	pending    []string  // publishers of the update that is not processed yet, or nil
	tokens     int       // remaining confirmations; one is added each Timing.UpdateEvery
	refilledAt time.Time // when the last token was added
	last       time.Time // when the last update came
}

// updateMissed compares the publishers' nodes with those of the last comparison. It reports
// whether the master cannot reach us: the last comparison found a change, and no
// PublisherUpdate has arrived since, for a whole round.
func (e *entry) updateMissed(names string, now time.Time, round time.Duration) bool {
	missed := !e.changedAt.IsZero() && e.update.last.Before(e.changedAt)
	e.changedAt = time.Time{}
	if e.compared && names != e.nodeNames && now.Sub(e.update.last) > round {
		e.changedAt = now
	}
	e.nodeNames, e.compared = names, true
	return missed
}

// book has the desired registrations of a node, and the state of each at the master. It makes no
// calls.
type book struct {
	log    *zap.Logger
	timing Timing

	mu         sync.Mutex
	entries    map[rosapi.Key]*entry
	agenda     *agenda
	comparedAt time.Time // the last comparison with the state of the master
}

// add adds a registration, and reports whether it is the first one ever.
func (b *book) add(k rosapi.Key, typ string, priority int, sub Listener) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first = b.agenda.added == 0
	now := time.Now()
	e := &entry{key: k, typ: typ, sub: sub, update: updates{tokens: updateBurst, refilledAt: now}}
	if old := b.entries[k]; old != nil {
		e.tried = old.tried
		b.agenda.drop(old)
	}
	b.entries[k] = e
	b.agenda.add(e, priority)
	b.planLocked(e, now)
	return first
}

// remove marks a registration as to be unregistered, or deletes it if no call was ever made for it.
func (b *book) remove(k rosapi.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[k]
	if e == nil {
		return
	}
	e.removed, e.notBefore, e.sub = true, time.Time{}, nil
	if !e.tried {
		delete(b.entries, k)
		b.agenda.drop(e)
	} else {
		b.planLocked(e, time.Now())
	}
}

// publisherUpdate records a publisherUpdate. It reports whether the topic is subscribed to.
func (b *book) publisherUpdate(topic string, uris []string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[rosapi.Key{Name: topic}]
	if e == nil || e.removed {
		return false
	}
	if uris == nil {
		uris = []string{}
	}
	now := time.Now()
	e.update.pending, e.update.last = uris, now
	b.planLocked(e, now)
	return true
}

// forgetComparisons is called when the master is away, and cannot notify this node of changes.
func (b *book) forgetComparisons() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		e.compared, e.changedAt = false, time.Time{}
	}
}

// confirmed reports whether the master has confirmed a registration, and if so, how many
// publishers its last list has.
func (b *book) confirmed(k rosapi.Key) (publishers int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[k]
	if e == nil || !e.registered || e.removed {
		return 0, false
	}
	return len(e.confirmed), true
}

// planLocked updates the agenda for the present state of e, unless another entry has replaced e. Call it
// after each change of an entry.
func (b *book) planLocked(e *entry, now time.Time) {
	if b.entries[e.key] == e {
		b.agenda.update(e, now, b.timing.UpdateEvery)
	}
}

// mostUrgent returns the most urgent entry that is due, and otherwise the time when the next entry
// is due.
func (b *book) mostUrgent(now time.Time) (*entry, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.agenda.next(now, b.timing.UpdateEvery)
}

// compare records which registrations the master has lost and which topics have new
// publishers. It returns a topic with a change of which the master did not notify us, or "",
// and whether a registration was lost.
func (b *book) compare(nodes map[rosapi.Key][]string, callerID string) (unreachedTopic string, lost bool) {
	now := time.Now()
	var waiting []*entry // entries with an unreached publisher in an unchanged list
	b.mu.Lock()
	defer b.mu.Unlock()
	// time in which the master should have sent an update
	round := max(b.timing.ReconcileEvery, now.Sub(b.comparedAt))
	b.comparedAt = now
	for k, e := range b.entries {
		if e.removed || !e.registered {
			continue
		}
		if k.Kind == rosapi.Service && len(nodes[k]) > 0 {
			b.setProviderLocked(e, nodes[k][0], nodes[k][0] == callerID)
			continue
		}
		if !slices.Contains(nodes[k], callerID) {
			b.log.Warn("the master has lost a registration", zap.String("name", k.Name),
				zap.Stringer("kind", k.Kind))
			e.registered, e.notBefore = false, time.Time{}
			b.planLocked(e, now)
			lost = true
			continue
		}
		if k.Kind != rosapi.Subscriber {
			continue
		}
		pubs := nodes[rosapi.Key{Kind: rosapi.Publisher, Name: k.Name}]
		slices.Sort(pubs)
		names := strings.Join(pubs, " ")
		switch {
		case e.refresh:
		case names != e.nodeNames:
			e.refresh = true
			b.planLocked(e, now)
		case !e.sub.AllUp():
			waiting = append(waiting, e)
		}
		if e.updateMissed(names, now, round) {
			unreachedTopic = k.Name
		}
	}
	b.refreshOldestLocked(waiting, now)
	return unreachedTopic, lost
}

// refreshOldestLocked requests new lists of publishers for the refreshMost topics whose lists are the
// oldest, among topics with an unreached publisher: that publisher may have restarted with another
// address. Nodes that have crashed stay listed forever, and may have had many topics: requesting all
// lists would keep the master busy.
func (b *book) refreshOldestLocked(waiting []*entry, now time.Time) {
	if len(waiting) > refreshMost {
		slices.SortFunc(waiting, func(a, b *entry) int { return a.answeredAt.Compare(b.answeredAt) })
		waiting = waiting[:refreshMost]
	}
	for _, e := range waiting {
		e.refresh = true
		b.planLocked(e, now)
	}
}

// setProviderLocked records whether this node or another provides a service.
func (b *book) setProviderLocked(e *entry, by string, mine bool) {
	if !mine {
		b.log.Warn("another node provides this service now", zap.String("service", e.key.Name),
			zap.String("by", by))
	}
	e.takenOver = !mine
}

// anyRegistered reports whether anything is registered with the master. With taken, a service that
// another node has taken over is a registration, too.
func (b *book) anyRegistered(taken bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.registered && !e.removed && (taken || !e.takenOver) {
			return true
		}
	}
	return false
}

// registerAll makes every registration due again. The links that wait for publishers will retry at
// once.
func (b *book) registerAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, e := range b.entries {
		e.registered, e.retryLinks, e.notBefore, e.compared = false, true, time.Time{}, false
		b.planLocked(e, now)
	}
}

// setNameTaken records whether another node has this node's name. If so, nothing is registered: a
// registration would shut the other node down.
func (b *book) setNameTaken(taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agenda.onlyRemovals == taken {
		return
	}
	b.agenda.onlyRemovals = taken
	now := time.Now()
	for _, e := range b.entries {
		b.planLocked(e, now)
	}
}

// task is the state of an entry when the call for it begins.
type task struct {
	removed, registered, retryLinks bool
	hint                            []string // publishers of a publisherUpdate, or nil
	confirmed                       []string // the last list of publishers
}

// begin records that the call for e starts now, and returns the state of e.
func (b *book) begin(e *entry) task {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := task{e.removed, e.registered, e.retryLinks, e.update.pending, e.confirmed}
	e.update.pending, e.tried = nil, true
	if t.hint != nil && e.update.tokens > 0 {
		e.update.tokens--
	}
	b.planLocked(e, time.Now())
	return t
}

// forget removes e, unless another entry has replaced e.
func (b *book) forget(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries[e.key] == e {
		delete(b.entries, e.key)
		b.agenda.drop(e)
	}
}

// recordResult records the answer of the master to the registration of e: err, if it refused.
func (b *book) recordResult(e *entry, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	defer func() { b.planLocked(e, now) }()
	if err != nil {
		e.notBefore = now.Add(b.timing.refusedWait)
		b.log.Warn("registration refused by the master", zap.String("name", e.key.Name),
			zap.Stringer("kind", e.key.Kind), zap.Error(err))
		return
	}
	e.registered, e.everRegistered, e.refresh, e.answeredAt = true, true, false, now
}

// recordPublishers records the master's list for a subscription.
func (b *book) recordPublishers(e *entry, uris []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.confirmed, e.retryLinks = uris, false
}

// listener returns the subscription of e; nil if the subscription was closed.
func (b *book) listener(e *entry) Listener {
	b.mu.Lock()
	defer b.mu.Unlock()
	return e.sub
}

// everRegistered reports whether the master has ever confirmed the registration of e.
func (b *book) everRegistered(e *entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return e.everRegistered
}

// recordProvider records whether this node or another provides a service.
func (b *book) recordProvider(e *entry, by string, mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setProviderLocked(e, by, mine)
}

// tried returns the entries that may be registered.
func (b *book) tried() (list []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.tried {
			list = append(list, e)
		}
	}
	return list
}
