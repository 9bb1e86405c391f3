package bagfmt

import (
	"errors"
	"fmt"
	"io"
)

// tornRecord ends the walk at a record that the end of the file cuts. What looks like a
// chunk in it is the message's, not the bag's.
func (v *recovery) tornRecord(start int64, op Op, left, want int64) error {
	v.note(SkippedRange{
		Offset: start, Bytes: v.size - start, Err: torn(start, op, "data", left, want),
		Trailing: op == OpConnection && v.space.ended,
	})
	v.seek(v.size)
	return nil
}

// bareMessage keeps a message outside chunks: of a chunk that was never completed,
// or whose end is not where its header says.
func (v *recovery) bareMessage(h *recordHeader, start int64) error {
	n, err := v.s.length(start, OpMessage)
	if err != nil {
		return v.lost(start, err)
	}
	if left := v.size - v.s.off; n > left {
		return v.tornRecord(start, OpMessage, left, n)
	}
	if n > maxMessageBytes {
		return v.lost(start, &LimitError{Offset: start, Op: OpMessage, What: "message", Got: n, Limit: maxMessageBytes})
	}
	data, err := v.s.grab(n, start, OpMessage)
	if err != nil {
		return v.lost(start, err)
	}
	c := v.space.get(h.conn)
	if c == nil {
		v.skipCounted(start, v.s.off-start, 1, corrupt(start, OpMessage, "message of unknown connection %d", h.conn))
		return nil
	}
	v.space.bare++
	return v.writeMessage(c, h.time, data)
}

func (v *recovery) bareConnection(h *recordHeader, start int64) error {
	n, err := v.s.length(start, OpConnection)
	if err != nil {
		return v.lost(start, err)
	}
	if left := v.size - v.s.off; n > left {
		return v.tornRecord(start, OpConnection, left, n)
	}
	if n > maxConnectionBytes {
		v.repair(&LimitError{Offset: start, Op: OpConnection, What: "connection header", Got: n, Limit: maxConnectionBytes})
		v.seek(v.s.off + n)
		return nil
	}
	data, err := v.s.grab(n, start, OpConnection)
	if err != nil {
		return v.lost(start, err)
	}
	v.space.learn(v, h, data, start)
	return nil
}

// convert copies the messages of a bag of an old version.
func (v *recovery) convert(s *Scanner) error {
	own := make(map[*Connection]*Connection)
	for {
		m, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			var e *CorruptError
			at := s.Offset()
			if errors.As(err, &e) {
				at = e.Offset
			}
			v.skip(at, 0, err) // how much of it the Scanner does not say
			continue
		}
		c := own[m.Conn]
		if c == nil {
			if c, err = v.w.AddConnection(m.Conn.Topic, m.Conn.Header); err != nil {
				return writeError{fmt.Errorf("topic %q: %w", m.Conn.Topic, err)}
			}
			own[m.Conn] = c
		}
		if err := v.writeMessage(c, m.Time, m.Data()); err != nil {
			return err
		}
		if v.o.Progress != nil && s.Offset() >= v.told+4<<20 {
			v.told = s.Offset()
			if err := v.o.Progress(v.told); err != nil {
				return err
			}
		}
	}
}
