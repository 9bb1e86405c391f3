package loglimit

import (
	"hash/maphash"
	"net"
	"sync"
	"time"

	"go.uber.org/zap/zapcore"
)

const (
	// problems of one kind that are written at once, when each has another peer.
	named = 5
	// lines on request of one kind that are written at once: as many as somebody causes by hand.
	requested = 20
	// kinds of lines that are distinguished; all further kinds share otherKind.
	maxKinds = 256
	// peers that are distinguished, of all kinds together.
	maxPeers = 8 << 10
	// key of the kinds beyond maxKinds.
	otherKind = ""
	// time without a line of a kind after which the kind is forgotten.
	forgetAfter = MaxInterval
)

var seed = maphash.MakeSeed()

// limiter decides which problems are written. It remembers a bounded number of problems, each for
// forgetAfter since its last line.
type limiter struct {
	mu    sync.Mutex
	kinds map[string]*kind
	peers int // peers of all kinds
	swept time.Time
}

// kind is the state of all lines with one message.
type kind struct {
	peers  map[uint64]*peer
	named  int       // lines written since the kind was new
	next   time.Time // when the next line may be written, once atOnce lines were written
	active time.Time // when the last line was logged, written or left out

	round      int // number of the lines written; compared with peer.round
	suppressed int // lines left out in this round
	affected   int // peers of the lines left out in this round
	held       *heldLine
	timer      *time.Timer // writes held; nil if held is nil
}

// peer is the state of the lines of one kind and one peer.
type peer struct {
	pace   Pace
	active time.Time
	round  int // round of the kind in which a line of the peer was last left out
}

// heldLine is the last line of a kind that was left out.
type heldLine struct {
	entry zapcore.Entry
	core  zapcore.Core // writes the entry with its fields
	peer  uint64
}

// admit reports whether to write a line now, and with which additional fields. keep returns
// a core with the line's fields, and is called only if the line is kept for later.
func (l *limiter) admit(
	peerName string, e zapcore.Entry, keep func() zapcore.Core,
) (write bool, extra []zapcore.Field) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kind(e.Message, now)
	id := maphash.String(seed, peerName)
	var p *peer
	if isProblem(e.Level) {
		p = l.peer(k, id, now)
	}
	if k.ready(p, e.Level, now) {
		extra = told(k.suppressed, k.affected, 0)
		k.written(p, now)
		return true, extra
	}
	k.suppressed++
	if p != nil && p.round != k.round {
		p.round = k.round
		k.affected++
	}
	k.held = &heldLine{e, keep(), id}
	if k.timer == nil {
		k.timer = time.AfterFunc(k.due(p, e.Level, now).Sub(now), func() { l.writeHeld(k, false) })
	}
	return false, nil
}

// kind finds or makes a kind.
func (l *limiter) kind(name string, now time.Time) *kind {
	k := l.kinds[name]
	if k == nil && len(l.kinds) >= maxKinds {
		l.sweep(now)
		if len(l.kinds) >= maxKinds {
			name = otherKind
			k = l.kinds[name]
		}
	}
	switch {
	case k == nil:
		k = &kind{peers: map[uint64]*peer{}, round: 1}
		l.kinds[name] = k
	case now.Sub(k.active) >= forgetAfter && k.held == nil:
		k.named = 0 // as if the kind were new
	}
	k.active = now
	return k
}

// peer finds or makes a peer of k; nil if too many are remembered.
func (l *limiter) peer(k *kind, id uint64, now time.Time) *peer {
	p := k.peers[id]
	if p == nil {
		if l.peers >= maxPeers {
			l.sweep(now)
		}
		if l.peers >= maxPeers {
			return nil
		}
		p = &peer{}
		k.peers[id] = p
		l.peers++
	}
	p.active = now
	return p
}

// sweep forgets kinds and peers without a line for a while. It looks at all of them, so it runs at
// most once a second.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < time.Second {
		return
	}
	l.swept = now
	for name, k := range l.kinds {
		for id, p := range k.peers {
			if now.Sub(p.active) >= 2*forgetAfter {
				delete(k.peers, id)
				l.peers--
			}
		}
		if len(k.peers) == 0 && k.held == nil && now.Sub(k.active) >= forgetAfter {
			delete(l.kinds, name)
		}
	}
}

// isProblem reports whether a line describes a problem; all other lines are on request.
func isProblem(level zapcore.Level) bool { return level >= zapcore.WarnLevel }

// atOnce returns how many lines may be written before the limit of one line in each Interval. p is
// nil if the peer is not remembered, and for lines on request.
func atOnce(p *peer, level zapcore.Level) int {
	switch {
	case !isProblem(level):
		return requested
	case p == nil:
		return 0
	}
	return named
}

// ready reports whether a line of p may be written.
func (k *kind) ready(p *peer, level zapcore.Level, now time.Time) bool {
	if k.named >= atOnce(p, level) && now.Before(k.next) {
		return false
	}
	return p == nil || p.pace.Ready(now)
}

// due returns when a line of p may be written.
func (k *kind) due(p *peer, level zapcore.Level, now time.Time) time.Time {
	at := now
	if k.named >= atOnce(p, level) && k.next.After(at) {
		at = k.next
	}
	if p != nil && p.pace.next.After(at) {
		at = p.pace.next
	}
	return at
}

// written records that a line of p is written.
func (k *kind) written(p *peer, now time.Time) {
	if p != nil {
		p.pace.Take(now)
	}
	k.named++
	k.next = now.Add(Interval)
	k.round++
	k.suppressed, k.affected, k.held = 0, 0, nil
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
}

// writeHeld writes the held line of k, if its time has come or last says that the program ends.
func (l *limiter) writeHeld(k *kind, last bool) {
	now := time.Now()
	l.mu.Lock()
	h := k.held
	if h == nil {
		l.mu.Unlock()
		return // another line was written in the meantime
	}
	p := k.peers[h.peer]
	if !last && !k.ready(p, h.entry.Level, now) { // the held line has replaced a line that was due earlier
		k.timer = time.AfterFunc(k.due(p, h.entry.Level, now).Sub(now), func() { l.writeHeld(k, false) })
		l.mu.Unlock()
		return
	}
	extra := told(k.suppressed-1, k.affected, now.Sub(h.entry.Time))
	k.written(p, now)
	l.mu.Unlock()
	h.entry.Time = now
	pass(h.core, h.entry, extra)
}

// flush writes all held lines.
func (l *limiter) flush() {
	l.mu.Lock()
	all := make([]*kind, 0, len(l.kinds))
	for _, k := range l.kinds {
		if k.held != nil {
			all = append(all, k)
		}
	}
	l.mu.Unlock()
	for _, k := range all {
		l.writeHeld(k, true)
	}
}

// hostOf returns the host of host:port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
