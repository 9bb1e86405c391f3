// Package trigger steers a recording by the content of its messages: it evaluates expressions over
// the messages of the topics that they name. When an expression turns true, it takes a snapshot,
// writes a mark, pins bags, or starts or stops the recording.
//
// The links of the recorder only copy messages into a queue of limited size; one goroutine
// evaluates. Messages that do not fit into the queue are counted and not evaluated: the recording
// never waits for a trigger.
//
// Decisions: ADR 0060.
package trigger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Memory is the bytes that a Set needs for waiting messages and for messages being evaluated.
const Memory = 4 << 20

// Kind is the act of a trigger.
type Kind int

// When several triggers fire with one message, they act in this order.
const (
	Snapshot Kind = iota // takes a snapshot
	Mark                 // writes a mark
	Pin                  // protects the latest bags from deletion
	Start                // begins to record, or ends a pause
	Stop                 // ends the bag, or the recording
	kinds
)

// String returns the option of gorecord, without the dashes.
func (k Kind) String() string {
	switch k {
	case Snapshot:
		return "snapshot-on"
	case Mark:
		return "mark-on"
	case Pin:
		return "pin-on"
	case Start:
		return "start-on"
	case Stop:
		return "stop-on"
	case kinds:
	}
	return "unknown"
}

// Options has the expressions of all triggers, and the recording that they control.
type Options struct {
	// expressions, as of gobag filter, each of which names its topics
	On map[Kind][]string
	// a trigger that has fired does not fire again for this time
	Pause time.Duration
	// how far back Pin reaches
	Span time.Duration
	// carries out the acts of triggers
	Control Control
	// ends the recording instead of Control.Stop; nil for Control.Stop
	End func()
	// resolves names of topics
	Resolve func(name string) (string, error)
	Log     *zap.Logger
}

// Control is the part of a [control.Recording] that triggers use.
type Control interface {
	BeginSnapshot(ctx context.Context, at time.Time) error
	MarkAt(text string, at time.Time) (control.Mark, error)
	Pin(ctx context.Context, last time.Duration) ([]string, error)
	Start(ctx context.Context) (string, error)
	Stop(ctx context.Context) (string, error)
	Resume() error
	Stats() (control.Stats, error)
}

// Set is a set of triggers. It is the [control.Watcher] of a recording.
type Set struct {
	Options
	rules  []*rule
	topics []topicname.InGraph
	queue  *queue
	heard  []atomic.Bool // whether a topic had a message, by the index of the topic in topics
}

// rule is one trigger. The goroutine that evaluates owns all fields that are not atomic.
type rule struct {
	kind    Kind
	text    string // the expression
	program *expr.Program
	topics  []string
	pause   pause
	fields  fieldCheck

	messages, fired, suppressed, refused, skipped, failures atomic.Uint64
}

// New compiles the expressions. Its errors name the option; those about an expression match
// [expr.ErrExpression].
func New(o Options) (*Set, error) {
	s := &Set{Options: o, queue: newQueue()}
	for kind := range kinds {
		for _, text := range o.On[kind] {
			p, err := expr.CompileTopics(text, o.Resolve)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", kind, err)
			}
			s.rules = append(s.rules,
				&rule{kind: kind, text: text, program: p, topics: p.Topics(), pause: pause{length: o.Pause}})
			for _, topic := range p.Topics() {
				s.topics = append(s.topics, topicname.InGraph(topic))
			}
		}
	}
	slices.Sort(s.topics)
	s.topics = slices.Compact(s.topics)
	s.heard = make([]atomic.Bool, len(s.topics))
	return s, nil
}

// Topics implements [control.Watcher].
func (s *Set) Topics() []topicname.InGraph { return s.topics }

// Open implements [control.Watcher].
func (s *Set) Open(topic topicname.InGraph, header rosbag.Header) control.LinkWatcher {
	l := &link{set: s, conn: &rosbag.Connection{Topic: string(topic), Header: header}}
	l.message.Conn = l.conn
	if i, ok := slices.BinarySearch(s.topics, topic); ok {
		l.heard = &s.heard[i]
	}
	for _, r := range s.rules {
		if slices.Contains(r.topics, string(topic)) {
			l.rules = append(l.rules, &linkRule{rule: r})
		}
	}
	s.queue.announce(l)
	return l
}

// Triggers implements [control.Watcher].
func (s *Set) Triggers() []control.TriggerStats {
	all := make([]control.TriggerStats, 0, len(s.rules))
	for _, r := range s.rules {
		stats := control.TriggerStats{
			Option: r.kind.String(), Expression: r.text, Topics: slices.Clone(r.topics),
			Messages: r.messages.Load(), Fired: r.fired.Load(), Suppressed: r.suppressed.Load(),
			Refused: r.refused.Load(), Skipped: r.skipped.Load(), Errors: r.failures.Load(),
		}
		for _, topic := range r.topics {
			if i, ok := slices.BinarySearch(s.topics, topicname.InGraph(topic)); ok && !s.heard[i].Load() {
				stats.Silent = append(stats.Silent, topic)
			}
		}
		all = append(all, stats)
	}
	return all
}

// Run evaluates expressions and carries out the acts of triggers until ctx is done. It then waits,
// for any time, for the evaluation in progress.
func (s *Set) Run(ctx context.Context) {
	for _, r := range s.rules {
		s.Log.Info("Trigger", zap.String("option", "--"+r.kind.String()), zap.Strings("topics", r.topics),
			zap.String("expression", r.text))
	}
	a := newActor(&s.Options)
	defer a.abandon()
	var wg sync.WaitGroup
	defer wg.Wait()
	// owner: Run; ends when ctx is done.
	wg.Go(func() { a.run(ctx) })
	e := evaluator{log: s.Log, fire: a.fire}
	b := new(batch)
	for {
		select {
		case <-s.queue.wake:
		case <-ctx.Done():
			return
		}
		b = s.queue.swap(b)
		for i := range b.items {
			if ctx.Err() != nil {
				return
			}
			e.item(&b.items[i], b.frame(i))
		}
		b.reset()
	}
}

// link is the watcher of one publisher. The goroutine that evaluates owns the fields without a
// lock; the goroutine of the link calls Frames and Skipped.
type link struct {
	set     *Set
	conn    *rosbag.Connection
	message rosbag.Message
	heard   *atomic.Bool // set once a message of the topic was received
	rules   []*linkRule
	checked bool // check was called for its message type
}

// linkRule is the state of a rule for one publisher.
type linkRule struct {
	*rule
	edge edge
}

// Frames implements [control.LinkWatcher].
func (l *link) Frames(run []byte, count int, bagTime, received time.Time) {
	l.heard.Store(true)
	if left := l.set.queue.put(l, run, count, bagTime, received); left > 0 {
		l.skip(left)
	}
}

// Skipped implements [control.LinkWatcher].
func (l *link) Skipped(messages int) {
	l.heard.Store(true)
	l.skip(messages)
}

// skip counts messages that are not evaluated, and logs the first time.
func (l *link) skip(messages int) {
	for _, r := range l.rules {
		if r.skipped.Add(uint64(messages)) == uint64(messages) {
			l.set.Log.Warn("a trigger does not look at all messages of a topic: they are larger than 128 KiB, or come faster than they can be evaluated",
				zap.String("option", "--"+r.kind.String()), zap.String("topic", l.conn.Topic),
				loglimit.Each())
		}
	}
}
