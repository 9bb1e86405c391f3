package recorded

import (
	"context"
	"errors"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// ErrNone says that there is no such message.
var ErrNone = errors.New("there is no such message")

// Place is where a message of a topic is: its time, and its number among those of the topic with the same
// time.
type Place struct {
	Time   rosbag.Time
	Number int
}

// Found is a message and its place. The message may be kept.
type Found struct {
	Place
	Message *rosbag.Message
}

func of(topic string) func(*rosbag.Connection) bool {
	return func(c *rosbag.Connection) bool { return c.Topic == topic }
}

// At returns the latest message of a topic at t or before or, if there is none, the first one.
func (s *Set) At(ctx context.Context, topic string, t rosbag.Time) (Found, error) {
	found, err := s.before(ctx, topic, t)
	if errors.Is(err, ErrNone) {
		return s.from(ctx, topic, t, 0)
	}
	return found, err
}

// Exactly returns the message at a place.
func (s *Set) Exactly(ctx context.Context, topic string, p Place) (Found, error) {
	return s.within(ctx, topic, p.Time, p.Time, p.Number)
}

// Next returns the message of a topic after a place.
func (s *Set) Next(ctx context.Context, topic string, p Place) (Found, error) {
	return s.from(ctx, topic, p.Time, p.Number+1)
}

// Previous returns the message of a topic before a place.
func (s *Set) Previous(ctx context.Context, topic string, p Place) (Found, error) {
	if p.Number > 0 {
		return s.Exactly(ctx, topic, Place{p.Time, p.Number - 1})
	}
	if p.Time.IsZero() {
		return Found{}, ErrNone
	}
	return s.before(ctx, topic, p.Time.Add(-1))
}

// from returns the message of a topic that has a number among those from t on.
func (s *Set) from(ctx context.Context, topic string, t rosbag.Time, number int) (Found, error) {
	return s.within(ctx, topic, t, rosbag.Time{}, number)
}

// within returns the message of a topic that has a number among those from start to end; the last one if
// it is negative.
func (s *Set) within(
	ctx context.Context, topic string, start, end rosbag.Time, number int,
) (found Found, err error) {
	var damage error
	seen, same := 0, Place{Number: -1}
	for m, err := range s.Messages(ctx, of(topic), start, end) {
		if ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		if err != nil {
			damage = err
			continue
		}
		if end == start && !end.IsZero() && m.Time != start { // a query without an end has a zero one
			break
		}
		if m.Time != same.Time {
			same = Place{m.Time, -1}
		}
		same.Number++
		kept := *m
		if found = (Found{same, &kept}); seen == number {
			return found, nil
		}
		seen++
	}
	switch {
	case number < 0 && found.Message != nil:
		return found, nil
	case damage != nil:
		return Found{}, damage
	}
	return Found{}, ErrNone
}

// before returns the latest message of a topic at t or before.
func (s *Set) before(ctx context.Context, topic string, t rosbag.Time) (Found, error) {
	latest, known := rosbag.Time{}, false
	var damage error
	for _, f := range s.Files {
		info := f.Source.Info()
		if info.Messages == 0 || t.Before(info.Start) || known && info.End.Before(latest) {
			continue
		}
		source, ok := f.Source.(rosbag.Latest)
		if !ok {
			found, err := s.backwards(ctx, topic, t, info.Start)
			if err == nil && (!known || latest.Before(found.Time)) {
				latest, known = found.Time, true
			} else if !errors.Is(err, ErrNone) {
				damage = err
			}
			continue
		}
		for _, found := range source.Latest(t, of(topic)) {
			if found.Err != nil {
				damage = found.Err
			}
			if m := found.Message; m != nil && (!known || latest.Before(m.Time)) {
				latest, known = m.Time, true
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return Found{}, ctx.Err()
	case known:
		return s.within(ctx, topic, latest, latest, -1)
	case damage != nil:
		return Found{}, damage
	}
	return Found{}, ErrNone
}

// LatestUntil returns the latest time, at most t, at which there may be a message of any topic; ok is
// false if there is none.
func (s *Set) LatestUntil(t rosbag.Time) (latest rosbag.Time, ok bool) {
	for p := range s.spans {
		if t.Before(p.Start) {
			continue
		}
		end := p.End
		if t.Before(end) {
			end = t
		}
		if !ok || latest.Before(end) {
			latest, ok = end, true
		}
	}
	return latest, ok
}

// backwards looks for the latest message at t or before in ever longer stretches of time.
func (s *Set) backwards(ctx context.Context, topic string, t, first rosbag.Time) (Found, error) {
	for length := time.Second; ; length *= 4 {
		start := t.Add(-length)
		found, err := s.within(ctx, topic, start, t, -1)
		if !errors.Is(err, ErrNone) || !first.Before(start) || length > 1<<56 {
			return found, err
		}
	}
}
