package output

import "slices"

// used is memory that published messages lie in, until no subscriber needs it any more.
type used struct {
	memory []byte
	topics []unsent // with messages that may lie in it
}

// unsent is a topic and how many of its messages were published when the memory was given to Done.
type unsent struct {
	topic *Topic
	count uint64
}

// maxUsedBytes bounds the memory that waits for subscribers. A subscriber that does not read would hold all.
const maxUsedBytes = 32 << 20

// Done says that no more messages come of those in memory. When all were sent to the subscribers, or dropped,
// the memory goes to Options.Reuse. Otherwise it is left to the garbage collector, which is always right.
// See ADR 0016.
func (o *Output) Done(memory []byte) {
	if o.reuse == nil {
		return
	}
	u := used{memory: memory}
	for _, t := range o.topics {
		if t == nil || t.sent == t.messages {
			continue
		}
		if held := uint64(t.publication.Held()); held < t.messages {
			t.sent = max(t.sent, t.messages-held)
		}
		if t.sent < t.messages {
			u.topics = append(u.topics, unsent{t, t.messages})
		}
	}
	o.used = append(o.used, u)
	bytes := 0
	o.used = slices.DeleteFunc(o.used, func(u used) bool {
		sent := !slices.ContainsFunc(u.topics, func(w unsent) bool { return w.topic.sent < w.count })
		if sent {
			o.reuse(u.memory)
		} else {
			bytes += cap(u.memory)
		}
		return sent
	})
	for ; bytes > maxUsedBytes; o.used = slices.Delete(o.used, 0, 1) {
		bytes -= cap(o.used[0].memory)
	}
}
