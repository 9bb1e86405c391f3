package loglimit

import (
	"hash/maphash"
	"net"
	"sync"
	"time"

	"go.uber.org/zap/zapcore"
)

const (
	named       = 5           // problems of one kind that come at once, when each has another peer
	requested   = 20          // lines on request of one kind that come at once: as many as somebody causes by hand
	maxKinds    = 256         // kinds of lines that are told apart; the others share one
	maxPeers    = 8 << 10     // peers that are told apart, of all kinds together
	otherKind   = ""          // of the kinds beyond maxKinds
	forgetAfter = MaxInterval // without a line of a kind
)

var seed = maphash.MakeSeed()

// limiter decides which problems are written. It remembers a bounded number of them, and
// none that has not come for a while.
type limiter struct {
	mu    sync.Mutex
	kinds map[string]*kind
	peers int // of all kinds
	swept time.Time
}

// kind is what is remembered of the lines with one message.
type kind struct {
	peers  map[uint64]*peer
	named  int       // lines written since the kind was new
	next   time.Time // of the next line, once atOnce lines were written
	active time.Time // when a line came last, written or not

	round      int // number of the lines written, which tells what peers.round belongs to
	suppressed int // lines left out in this round
	affected   int // peers that they are of
	held       *heldLine
	timer      *time.Timer // to write held; nil if none is held
}

// peer is what is remembered of the lines of one kind and one peer.
type peer struct {
	pace   Pace
	active time.Time
	round  int // of the kind, in which a line was left out last
}

// heldLine is the last line of a kind that was left out.
type heldLine struct {
	entry zapcore.Entry
	core  zapcore.Core // has the fields
	peer  uint64
}

// admit reports whether to write a line now, and with which additional fields. keep returns
// a core with the line's fields, and is called only if the line is kept for later.
func (l *limiter) admit(peerName string, e zapcore.Entry, keep func() zapcore.Core) (write bool, extra []zapcore.Field) {
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
		k.named = 0 // as if it were new
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

// sweep forgets what has not come for a while. It looks at everything, so at most once a second.
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

// isProblem reports whether a line tells a problem; others are on request.
func isProblem(level zapcore.Level) bool { return level >= zapcore.WarnLevel }

// atOnce returns how many lines may be written before there is one in each Interval. p is nil
// if it is not remembered, and for lines on request.
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

// written notes that a line of p is written.
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

// writeHeld writes the line of k that is kept, if its time has come or it is the last chance.
func (l *limiter) writeHeld(k *kind, last bool) {
	now := time.Now()
	l.mu.Lock()
	h := k.held
	if h == nil {
		l.mu.Unlock()
		return // another line was written in the meantime
	}
	p := k.peers[h.peer]
	if !last && !k.ready(p, h.entry.Level, now) { // it replaced one that was due earlier
		k.timer = time.AfterFunc(k.due(p, h.entry.Level, now).Sub(now), func() { l.writeHeld(k, false) })
		l.mu.Unlock()
		return
	}
	extra := told(k.suppressed-1, k.affected, now.Sub(h.entry.Time))
	k.written(p, now)
	l.mu.Unlock()
	h.entry.Time = now
	_ = h.core.Write(h.entry, extra) // nobody waits for it: zap, too, drops such an error
}

// flush writes all lines that are kept.
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
