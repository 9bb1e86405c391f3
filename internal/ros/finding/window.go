package finding

import "time"

// slots is how many slots a window has.
const slots = 40

// window counts the messages of the last slots, each of which is least long, or longer for a topic with
// few messages.
type window struct {
	least   time.Duration  // the shortest slot: Every, or more in a simulation that runs fast
	quarter time.Duration  // of a usual period
	slot    time.Duration  // the length of a slot: a window holds ten periods at least
	from    time.Duration  // since when messages are counted
	looked  time.Duration  // when messages were counted last
	newest  int64          // the number of the newest slot
	counts  [slots]uint32  // by the number of the slot modulo slots
	before  [slots]float32 // how long before the slot the look before its first one was, in seconds
	sum     uint32         // of counts
}

// reset forgets all messages.
func (w *window) reset(at time.Duration) {
	*w = window{least: w.least, quarter: w.quarter, slot: max(w.least, w.quarter)}
	w.from, w.looked, w.newest = at, at, int64(at/w.slot)
}

// setPeriod sets how far apart messages usually are, in seconds.
func (w *window) setPeriod(seconds float64, at time.Duration) {
	w.quarter = time.Duration(seconds*float64(time.Second)) * 10 / slots
	w.fit(at)
}

// setLeast sets the shortest slot.
func (w *window) setLeast(least, at time.Duration) {
	w.least = least
	w.fit(at)
}

func (w *window) fit(at time.Duration) {
	if max(w.least, w.quarter) != w.slot {
		w.reset(at)
	}
}

// brief is how many slots show whether the rate has recovered: 1.5 s, or three periods.
func (w *window) brief() int64 {
	if w.quarter > w.least {
		return 12
	}
	return 6
}

// add counts messages that came until now.
func (w *window) add(at time.Duration, messages uint64) {
	now := int64(at / w.slot)
	for i := max(w.newest+1, now-slots+1); i <= now; i++ {
		w.sum -= w.counts[i%slots]
		w.counts[i%slots], w.before[i%slots] = 0, float32((time.Duration(i)*w.slot - w.looked).Seconds())
	}
	w.newest, w.looked = now, at
	w.counts[now%slots] += uint32(messages)
	w.sum += uint32(messages)
}

// length is how much time a full window covers.
func (w *window) length() time.Duration { return slots * w.slot }

// full reports whether the window has counted for as long as it covers.
func (w *window) full(at time.Duration) bool { return at-w.from >= w.length() }

// since returns when messages began to come at less than hz: the start of the slots in which most are
// missing.
func (w *window) since(at time.Duration, hz float64) time.Duration {
	begin, missing, most := at, 0.0, 0.0
	for i := w.newest; i >= max(w.newest-slots+1, 0); i-- {
		missing += hz*w.slot.Seconds() - float64(w.counts[i%slots])
		if missing > most {
			begin, most = time.Duration(i)*w.slot, missing
		}
	}
	return max(begin, w.from)
}

// rate returns the rate over the last n slots, in Hz. A message is in the slot of the look that has seen
// it, so the first slot begins where the look before its first one was.
func (w *window) rate(at time.Duration, n int64) float64 {
	sum, first := w.sum, max(w.newest-n+1, 0)
	if n < slots {
		sum = 0
		for i := first; i <= w.newest; i++ {
			sum += w.counts[i%slots]
		}
	}
	before := time.Duration(float64(w.before[first%slots]) * float64(time.Second))
	begin := max(time.Duration(first)*w.slot-before, w.from)
	if at <= begin {
		return 0
	}
	return float64(sum) / (at - begin).Seconds()
}
