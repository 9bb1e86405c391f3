package screen

import "time"

// window is how many accounts a rate is made of: those of about four seconds, so that
// it is steady for a topic of a few Hz and follows a change at once.
const window = 16

// apart is how far two accounts are apart at least. Those of a frame for each key would
// else make the window short.
const apart = refresh * 3 / 4

// rates makes rates of the differences of accounts. Their time is the wall's or that of
// the bags, and does not go back.
type rates struct {
	at     [window]time.Duration
	n      int // accounts so far; the next one goes to n%window
	topics map[string]*[window]amount
}

// amount counts what has come or gone so far. It never falls.
type amount struct{ messages, bytes uint64 }

// next begins the next account. It takes the place of one that is near the one before.
func (r *rates) next(at time.Duration) {
	if r.n >= 2 && r.at[(r.n-1)%window]-r.at[(r.n-2)%window] < apart {
		r.n--
	}
	r.at[r.n%window] = at
	r.n++
}

// set puts a topic into the account.
func (r *rates) set(topic string, a amount) { r.past(topic)[(r.n-1)%window] = a }

// skip makes all that a topic has had since the last account count for nothing.
func (r *rates) skip(topic string, a amount) {
	past := r.past(topic)
	last := past[(r.n-1)%window]
	for i := range past {
		past[i].messages += a.messages - last.messages
		past[i].bytes += a.bytes - last.bytes
	}
}

func (r *rates) past(topic string) *[window]amount {
	past := r.topics[topic]
	if past == nil { // earlier accounts have nothing of it, which is so
		past = new([window]amount)
		if r.topics == nil {
			r.topics = map[string]*[window]amount{}
		}
		r.topics[topic] = past
	}
	return past
}

// of returns the messages and bytes of a topic a second.
func (r *rates) of(topic string) (hz, bytes float64) {
	past := r.topics[topic]
	if past == nil || r.n < 2 {
		return 0, 0
	}
	newest, oldest := (r.n-1)%window, 0
	if r.n > window {
		oldest = r.n % window
	}
	d := (r.at[newest] - r.at[oldest]).Seconds()
	if d <= 0 {
		return 0, 0
	}
	return float64(past[newest].messages-past[oldest].messages) / d, float64(past[newest].bytes-past[oldest].bytes) / d
}
