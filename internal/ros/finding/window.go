package finding

import "time"

// slots is how many slots a window has.
const slots = 40

// window counts the messages of the last slots, each of which is Every long, or longer for a topic with few messages.
type window struct {
	slot   time.Duration // the length of a slot
	from   time.Duration // since when messages are counted
	newest int64         // the number of the newest slot
	counts [slots]uint32 // by the number of the slot modulo slots
	sum    uint32        // of counts
}

// reset forgets all messages.
func (w *window) reset(at time.Duration) {
	*w = window{slot: w.slot, from: at, newest: int64(at / w.slot)}
}

// setPeriod sets how far apart messages usually are, in seconds: a window holds ten periods, and ten seconds at least.
func (w *window) setPeriod(seconds float64, at time.Duration) {
	if slot := max(Every, time.Duration(seconds*float64(time.Second))*10/slots); slot != w.slot {
		w.slot = slot
		w.reset(at)
	}
}

// add counts messages that came until now.
func (w *window) add(at time.Duration, messages uint64) {
	now := int64(at / w.slot)
	if now-w.newest >= slots {
		w.counts, w.sum = [slots]uint32{}, 0
	} else {
		for i := w.newest + 1; i <= now; i++ {
			w.sum -= w.counts[i%slots]
			w.counts[i%slots] = 0
		}
	}
	w.newest = now
	w.counts[now%slots] += uint32(messages)
	w.sum += uint32(messages)
}

// length is how much time a full window covers.
func (w *window) length() time.Duration { return slots * w.slot }

// full reports whether the window has counted for as long as it covers.
func (w *window) full(at time.Duration) bool { return at-w.from >= w.length() }

// rate returns the rate over the last n slots, in Hz. A message is in the slot of the look that has seen it, so the first
// slot begins where the look before its first one was.
func (w *window) rate(at time.Duration, n int64) float64 {
	sum, first := w.sum, max(w.newest-n+1, 0)
	if n < slots {
		sum = 0
		for i := first; i <= w.newest; i++ {
			sum += w.counts[i%slots]
		}
	}
	begin := max(time.Duration(first)*w.slot+at%Every-Every, w.from)
	if at <= begin {
		return 0
	}
	return float64(sum) / (at - begin).Seconds()
}
