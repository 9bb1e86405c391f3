package rosmsg

// HeaderStamps finds the stamps in messages of one type: the field stamp of each
// std_msgs/Header, wherever it is in the message, and the time of a rosgraph_msgs/Clock.
// Other times, such as those in the IDs of actionlib's goals, are none.
type HeaderStamps struct{ root *Type }

// HeaderStamps returns what finds the stamps in messages of the type, or nil if they have
// none.
func (t *Type) HeaderStamps() *HeaderStamps {
	if !t.wire.stamped {
		return nil
	}
	return &HeaderStamps{t}
}

// AppendOffsets appends the offset of each stamp in a payload, in order, and returns the
// extended slice. A stamp is eight bytes, seconds and nanoseconds. It allocates nothing but
// what dst needs.
//
// With a payload that ends early, a [DecodeError], it returns dst as it was. Bytes after the
// message do not matter.
func (h *HeaderStamps) AppendOffsets(dst []int, payload []byte) ([]int, error) {
	offsets := dst
	c := cursor{p: payload, stamps: &offsets}
	if err := c.skip(&h.root.wire); err != nil {
		return dst, h.root.blame(err)
	}
	return offsets, nil
}
