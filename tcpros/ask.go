package tcpros

import (
	"context"
	"slices"
	"sync"
)

// askingMD5 is the md5sum with which AskSubscribers advertises topics: that of no type, so that every subscriber is looked at.
const askingMD5 = "00000000000000000000000000000000"

// AskSubscribers returns the headers with which subscribers of topics connect, by topic: which type, md5sum and, from rospy,
// definition they want. topics has the names of the subscribers that are expected. A subscriber says this to publishers only:
// AskSubscribers advertises the topics, sends nothing, and withdraws them when all have connected or ctx ends. Topics that the
// node advertises already are left out.
func (n *Node) AskSubscribers(ctx context.Context, topics map[string][]string) (map[string][]Header, error) {
	a := &asking{missing: make(map[string][]string), got: make(map[string][]Header), done: make(chan struct{})}
	for topic, callers := range topics {
		a.missing[topic] = slices.Clone(callers)
	}
	var all []*Publication
	defer func() {
		for _, p := range all {
			p.Close()
		}
	}()
	for topic := range topics {
		p, err := n.Advertise(AdvertiseOptions{Topic: topic, Type: "*", MD5Sum: askingMD5, Transient: true, Unfit: func(h Header) (*Adapted, string) { return a.note(topic, h), "" }})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) > 0 {
		select {
		case <-a.done:
		case <-ctx.Done():
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got, nil
}

// asking is what AskSubscribers has learned.
type asking struct {
	mu      sync.Mutex
	missing map[string][]string // subscribers that have not connected, by topic
	got     map[string][]Header
	done    chan struct{} // closed when none is missing
}

// note notes the header of a subscriber, and returns what it gets: nothing, under the type that it wants.
func (a *asking) note(topic string, h Header) *Adapted {
	a.mu.Lock()
	defer a.mu.Unlock()
	caller := h.Value("callerid")
	same := func(g Header) bool { return g.Value("callerid") == caller }
	if at := slices.IndexFunc(a.got[topic], same); at >= 0 {
		a.got[topic][at] = h
	} else {
		a.got[topic] = append(a.got[topic], h)
	}
	before := len(a.missing)
	if a.missing[topic] = slices.DeleteFunc(a.missing[topic], func(s string) bool { return s == caller }); len(a.missing[topic]) == 0 {
		delete(a.missing, topic)
	}
	if before > 0 && len(a.missing) == 0 {
		close(a.done)
	}
	return &Adapted{Type: h.Value("type"), MD5Sum: h.Value("md5sum"), Frame: func([]byte) []byte { return nil }}
}
