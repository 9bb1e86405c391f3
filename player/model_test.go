package player

import (
	gocmp "cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

var modelSeed = flag.Uint64("model-seed", 0, "seed of TestModel; 0 takes several")

// model is play as one would write it without a reader, a queue, and a pacer: all
// messages in a list, and a walk over it.
type model struct {
	messages []testplay.Message // by time
	length   time.Duration
	conns    map[testplay.Conn]int // in the order of the bag
	now      time.Duration         // nothing happens before
	schedule transport.Schedule
	loop     transport.Loop

	next      int // message
	last      time.Duration
	published bool          // since the last jump
	turned    bool          // which was the end of a pass
	startedAt time.Duration // when the pass, or play after a jump, began
	from      time.Duration // what is read of this pass begins here
	limit     time.Duration
	ended     bool
	steps     int
	held      map[testplay.Conn]int
	events    []string
}

func (m *model) publish(now time.Duration, i int) {
	if c := m.messages[i].Conn; c.Latching {
		m.held[c] = i
	}
	m.events = append(m.events, fmt.Sprintf("%v %d", now, i))
}

// due returns what comes next: a message, the end of a pass, or nothing.
func (m *model) due() (pos time.Duration, turn, ok bool) {
	if m.next < len(m.messages) && m.messages[m.next].At <= m.limit {
		return m.messages[m.next].At, false, true
	}
	if !m.loop.On {
		return 0, false, false
	}
	return m.passEnd(), true, true
}

// passEnd returns where a pass ends: at the end of the loop, and so that its last message and
// the first one of the next pass are as far apart as the median of its messages.
func (m *model) passEnd() time.Duration {
	at := m.from
	if m.limit != transport.Forever {
		at = m.limit
	}
	read := m.messages[m.first(m.from):]
	if m.limit != transport.Forever {
		read = read[:m.first(m.limit+1)-m.first(m.from)]
	}
	if len(read) == 0 {
		return at
	}
	last := read[len(read)-1].At
	if m.limit == transport.Forever {
		at = last
	}
	next := m.first(m.loop.From)
	if next == len(m.messages) || m.messages[next].At > m.loop.To {
		return at
	}
	var gaps []time.Duration
	for i := range read[1:] {
		gaps = append(gaps, read[i+1].At-read[i].At)
	}
	slices.Sort(gaps)
	gap := ms
	if n := len(gaps); n > 0 {
		gap = max(gap, gaps[(n-1)/2])
	}
	return max(at, last+gap-(m.messages[next].At-m.loop.From))
}

// advance plays up to a time, exclusively. It reports false if something is due just then.
func (m *model) advance(to time.Duration) bool {
	for {
		pos, turn, ok := m.due()
		if !ok {
			m.ended, m.now = true, to
			return true
		}
		at := m.schedule.Deadline(pos)
		switch {
		case at == to:
			return false
		case at > to && (!m.schedule.Paused || m.steps == 0):
			m.now = to
			return true
		}
		m.now = max(at, m.now)
		m.take(m.now, pos, turn)
	}
}

// take deals with what is due.
func (m *model) take(now, pos time.Duration, turn bool) {
	if turn {
		if m.schedule.Paused && m.turned && !m.published {
			m.steps = 0
		}
		start := max(now, m.startedAt+10*ms) // a pass takes at least this
		m.arrive(now, m.loop.From, m.first(m.loop.From), true)
		m.schedule.Begin(m.loop.From, start)
		m.turned, m.startedAt = true, start
		return
	}
	if m.schedule.Paused {
		m.steps--
		m.schedule.Step(pos)
	}
	m.publish(now, m.next)
	m.next, m.last, m.published = m.next+1, pos, true
}

// first returns the first message from a position on.
func (m *model) first(pos time.Duration) int {
	i, _ := slices.BinarySearchFunc(m.messages, pos, func(x testplay.Message, p time.Duration) int { return int(x.At - p) })
	return i
}

// arrive goes on at a message, with its state.
func (m *model) arrive(now, pos time.Duration, next int, turn bool) {
	held := map[testplay.Conn]int{}
	for i, x := range m.messages[:next] {
		if x.Conn.Latching {
			held[x.Conn] = i
		}
	}
	order := slices.SortedFunc(maps.Values(held), func(a, b int) int {
		x, y := m.messages[a], m.messages[b]
		return gocmp.Or(gocmp.Compare(x.At, y.At), gocmp.Compare(m.conns[x.Conn], m.conns[y.Conn]))
	})
	for _, i := range order {
		if old, ok := m.held[m.messages[i].Conn]; !turn || !ok || old != i {
			m.publish(now, i)
		}
	}
	m.held, m.next, m.last, m.published, m.turned = held, next, pos, false, false
	m.schedule.Begin(pos, now)
	m.startedAt = now
	m.aim(pos)
}

// aim sets where the pass ends that is read from a position on.
func (m *model) aim(from time.Duration) {
	m.from, m.limit = from, transport.Forever
	if m.loop.On && from <= m.loop.To {
		m.limit = m.loop.To
	}
	m.ended = false
}

func (m *model) position(now time.Duration) time.Duration {
	pos := m.schedule.Position(now)
	if next, _, ok := m.due(); ok {
		pos = min(pos, next)
	}
	return max(pos, m.last)
}

func (m *model) seek(now, to time.Duration) {
	m.steps = 0
	to = max(0, min(to, m.length))
	m.arrive(now, to, m.first(to), false)
}

func (m *model) stepBack(now time.Duration) {
	if !m.schedule.Paused {
		return
	}
	to := m.next - 1
	if m.published {
		to--
	}
	if to < 0 {
		return
	}
	m.arrive(now, m.messages[to].At, to, false)
	m.steps = 1
}

// setLoop changes the loop. The pass that is being played has its end until then.
func (m *model) setLoop(now time.Duration, loop transport.Loop) {
	pos := m.position(now)
	m.loop = loop
	switch {
	case m.ended && !m.loop.On:
	case m.loop.On && pos >= m.loop.To:
		m.seek(now, m.loop.From)
	default:
		m.aim(m.last)
	}
}

// verb is one order, for play and for the model.
type verb struct {
	name string
	do   func(control.Control)
	m    func(m *model, now time.Duration)
}

func randomVerb(r *rand.Rand, length time.Duration) verb {
	pos := func() time.Duration { return time.Duration(r.Int64N(int64(length)/int64(ms)+3)-1) * ms }
	switch r.IntN(12) {
	case 0, 1:
		to := pos()
		return verb{fmt.Sprint("seek ", to), seek(to), func(m *model, now time.Duration) { m.seek(now, to) }}
	case 2, 3:
		return verb{"toggle", toggle, func(m *model, now time.Duration) {
			if !m.schedule.Pause(m.position(now)) {
				m.schedule.Resume(now)
			} else {
				m.steps = 0
			}
		}}
	case 4, 5, 6:
		n := 1 + r.IntN(3)
		return verb{fmt.Sprint("burst ", n), func(c control.Control) { c.Burst(n) }, func(m *model, _ time.Duration) {
			if m.schedule.Paused && !m.ended {
				m.steps += n
			}
		}}
	case 7, 8:
		return verb{"back", back, func(m *model, now time.Duration) { m.stepBack(now) }}
	case 9:
		on := r.IntN(2) == 0
		return verb{fmt.Sprint("loop ", on), func(c control.Control) { c.SetLoop(on) }, func(m *model, now time.Duration) {
			if m.loop.On != on {
				loop := m.loop
				loop.On = on
				m.setLoop(now, loop)
			}
		}}
	case 10:
		from, to := pos(), pos()
		return verb{fmt.Sprint("range ", from, " ", to), func(c control.Control) { _ = c.SetLoopRange(from, to) }, func(m *model, now time.Duration) {
			from, to := max(from, 0), min(to, m.length)
			if from >= to {
				return
			}
			if to == m.length {
				to = transport.Forever
			}
			loop := m.loop
			loop.From, loop.To = from, to
			m.setLoop(now, loop)
		}}
	}
	rate := []float64{0.5, 1, 2, 4}[r.IntN(4)]
	return verb{fmt.Sprint("rate ", rate), func(c control.Control) { _ = c.SetRate(rate) }, func(m *model, now time.Duration) {
		m.schedule.Begin(m.position(now), now)
		m.schedule.Rate = rate
	}}
}

// randomMessages have equal stamps, too.
func randomMessages(r *rand.Rand) []testplay.Message {
	conns := []testplay.Conn{
		testplay.ConnA, {Topic: "/l", CallerID: "/n1", Latching: true}, {Topic: "/l", CallerID: "/n2", Latching: true},
	}
	var list []testplay.Message
	at := time.Duration(0)
	for i := range 2 + r.IntN(20) {
		list = append(list, testplay.Message{Conn: conns[r.IntN(len(conns))], At: at, Text: strconv.Itoa(i)})
		at += time.Duration(r.IntN(4)) * 5 * ms
	}
	list[len(list)-1].At += ms // a loop takes time
	return list
}

// After any sequence of orders, what is published, and when, and what latched publishers
// hold, is what the model says.
func TestModel(t *testing.T) {
	t.Parallel()
	seeds := []uint64{*modelSeed}
	if *modelSeed == 0 {
		seeds = seeds[:0]
		count := 100
		if testing.Short() {
			count = 20
		}
		for range count {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("model-seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			messages := randomMessages(r)
			bag := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: []int{1, 60, 0}[r.IntN(3)]}, messages...)
			synctest.Test(t, func(t *testing.T) { playModel(t, r, messages, bag) })
		})
	}
}

func playModel(t *testing.T, r *rand.Rand, messages []testplay.Message, bag []byte) {
	m := &model{
		messages: messages, length: messages[len(messages)-1].At, held: map[testplay.Conn]int{}, limit: transport.Forever,
		schedule: transport.Schedule{Rate: 1, Paused: r.IntN(2) == 0}, loop: transport.Loop{To: transport.Forever},
	}
	m.conns = map[testplay.Conn]int{}
	for _, x := range messages {
		if _, ok := m.conns[x.Conn]; !ok {
			m.conns[x.Conn] = len(m.conns)
		}
	}
	g := newFakeGraph()
	o := Options{Bags: testplay.OpenBags(t, bag), KeepAlive: true, Paused: m.schedule.Paused}
	var log []string
	now := time.Duration(0)
	orders := ordersAt{}
	for range 30 {
		now += time.Duration(1 + r.Int64N(int64(40*ms)))
		for !m.advance(now) {
			now++ // not when something is due: who comes first is chance
		}
		v := randomVerb(r, m.length)
		log = append(log, fmt.Sprint(now, " ", v.name))
		v.m(m, now)
		if m.schedule.Paused && m.steps > 0 {
			m.settle(now)
		}
		orders[now] = v.do
	}
	now += time.Second
	for !m.advance(now) {
		now++
	}
	orders[now] = stop
	steer(t, g, o, orders)
	var got []string
	for _, e := range g.events {
		if f := strings.Fields(e); f[len(f)-1] != "unlatched" && f[len(f)-1] != "drain" {
			got = append(got, f[0]+" "+f[len(f)-1])
		}
	}
	if d := cmp.Diff(m.events, got); d != "" {
		t.Errorf("messages %v\norders %s\n(-want +got):\n%s", messages, strings.Join(log, "; "), d)
	}
	if d := cmp.Diff(m.holding(), g.holding()); d != "" {
		t.Errorf("messages %v\norders %s\nwhat sources hold (-want +got):\n%s", messages, strings.Join(log, "; "), d)
	}
}

// holding names the sources as a fakeGraph does.
func (m *model) holding() map[string]string {
	held, sources := map[string]string{}, map[string]int{}
	for _, c := range slices.SortedFunc(maps.Keys(m.conns), func(a, b testplay.Conn) int { return m.conns[a] - m.conns[b] }) {
		sources[c.Topic]++
		if i, ok := m.held[c]; ok {
			held[fmt.Sprintf("%s#%d", c.Topic, sources[c.Topic])] = m.messages[i].Text
		}
	}
	return held
}

// settle takes the steps that are asked for, now.
func (m *model) settle(now time.Duration) {
	for m.steps > 0 {
		pos, turn, ok := m.due()
		if !ok {
			m.ended = true
			return
		}
		m.take(now, pos, turn)
	}
}
