package db3

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Count says how many messages a topic has, and of what time.
type Count struct {
	Messages    uint64
	First, Last int64 // nanoseconds since 1970
}

// Counts counts the messages of each topic by its number. If the recorder has counted them, it reads some
// messages at both ends of the file; otherwise one page for each message. Messages of no topic of the file
// are ErrCorrupt, with the counts of all topics.
func (r *Reader) Counts(ctx context.Context) (map[int64]Count, error) {
	if all := r.recorded(ctx); all != nil {
		return all, nil
	}
	rows, err := r.prepare(ctx, "SELECT topic_id, timestamp FROM messages LIMIT "+fmt.Sprint(r.maxRows()))
	if err != nil {
		return nil, err
	}
	defer rows.close()
	all := map[int64]Count{}
	for i := range r.topics {
		all[r.topics[i].ID] = Count{}
	}
	lost, of := 0, int64(0) // messages of no topic, and the number that the first has
	for rows.query(ctx); ; {
		v, err := rows.next()
		switch {
		case errors.Is(err, io.EOF) && lost > 0:
			return all, fmt.Errorf("%w: %d messages have topic numbers, such as %d, that no topic has",
				ErrCorrupt, lost, of)
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		}
		id, isID := v[0].(int64)
		at, isTime := v[1].(int64)
		if !isID || !isTime {
			return all, fmt.Errorf("%w: a message has the topic %v and the time %v", ErrCorrupt, v[0], v[1])
		}
		c, ok := all[id]
		if !ok {
			if lost++; lost == 1 {
				of = id
			}
			continue
		}
		if c.Messages == 0 {
			c.First, c.Last = at, at
		}
		c.Messages++
		c.First, c.Last = min(c.First, at), max(c.Last, at)
		all[id] = c
	}
}

// recorded returns the counts of the recorder, with the times that the ends of the file show. It returns
// nil if there are none, if they do not fit the file, or if a topic begins or ends far from both ends.
func (r *Reader) recorded(ctx context.Context) map[int64]Count {
	if r.metadata == nil || !r.indexed {
		return nil
	}
	// Pages that are crafted to be used many times would count without end.
	count := fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM messages LIMIT %d)", r.maxRows())
	var messages uint64
	if r.db.conn.QueryRowContext(ctx, count).Scan(&messages) != nil {
		return nil
	}
	ids, all := make(map[string]int64), make(map[int64]Count)
	for i := range r.topics {
		ids[r.topics[i].Name] = r.topics[i].ID
		all[r.topics[i].ID] = Count{}
	}
	front, back := r.atEnd(ctx, all, Query{}), r.atEnd(ctx, all, Query{Backwards: true})
	if front == nil || back == nil {
		return nil
	}
	for _, t := range r.metadata.Topics {
		id, ok := ids[t.Name]
		f, b := front[id], back[id]
		switch {
		case !ok || all[id].Messages > 0, t.Messages > messages, t.Messages < max(f.Messages, b.Messages):
			return nil
		case t.Messages == 0:
			continue
		case f.Messages == t.Messages: // all messages are at the beginning
			b.First = f.Last
		case b.Messages == t.Messages:
			f.First = b.Last
		case f.Messages == 0 || b.Messages == 0:
			return nil
		}
		all[id] = Count{Messages: t.Messages, First: f.First, Last: b.First}
		messages -= t.Messages
	}
	if messages != 0 || len(ids) != len(r.topics) {
		return nil
	}
	return all
}

// atEnd counts the first messages that a query selects. First and Last are in its order. It returns nil if
// there is damage, which Counts shall name, such as a message of none of the topics.
func (r *Reader) atEnd(ctx context.Context, topics map[int64]Count, q Query) map[int64]Count {
	q.limit = 2048
	all := make(map[int64]Count)
	rows, err := r.prepare(ctx, q.statement("topic_id"))
	if err != nil {
		return nil
	}
	defer rows.close()
	for rows.query(ctx); ; {
		v, err := rows.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			return nil
		}
		at, isTime := v[0].(int64)
		id, isID := v[1].(int64)
		if _, known := topics[id]; !isTime || !isID || !known {
			return nil
		}
		c := all[id]
		if c.Messages == 0 {
			c.First = at
		}
		c.Messages++
		c.Last = at
		all[id] = c
	}
}
