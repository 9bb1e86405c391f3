package rosbag

// Edit says how the messages of a connection change on their way into another recording. Topic, times and
// order stay.
type Edit struct {
	Header Header // of the connection afterward
	// Payload appends what a message becomes to dst. Without keep the message is left out, which is not
	// reported: whoever made the Edit knows why. An error ends the copy. Nil leaves payloads as they are.
	Payload func(dst, payload []byte, t Time) (out []byte, keep bool, err error)
}

// Connection returns what a connection becomes, with the same ID. A nil Edit returns c.
func (e *Edit) Connection(c *Connection) *Connection {
	if e == nil {
		return c
	}
	return &Connection{ID: c.ID, Topic: c.Topic, Header: e.Header}
}

// Apply returns what a message becomes, in memory that the next call uses again. A nil Edit returns payload.
func (e *Edit) Apply(memory *[]byte, payload []byte, t Time) (out []byte, keep bool, err error) {
	if e == nil || e.Payload == nil {
		return payload, true, nil
	}
	out, keep, err = e.Payload((*memory)[:0], payload, t)
	*memory = out
	return out, keep, err
}
