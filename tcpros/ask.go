package tcpros

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// AskSubscribers returns the headers with which subscribers of topics connect, by topic: which type,
// md5sum and, from rospy, definition they want. topics has the names of the subscribers that are
// expected, by the resolved name of the topic. A subscriber says this to publishers only: AskSubscribers
// advertises the topics, sends nothing, and withdraws them when all have connected or ctx ends. Topics
// that the node advertises already are left out.
//
// Each subscriber is told what it wants, and "*" if it takes anything: roscpp keeps the first md5sum that
// it is told, and would refuse all other publishers.
func (n *Node) AskSubscribers(ctx context.Context, topics map[string][]string) (map[string][]Header, error) {
	a := &asking{
		missing: make(map[string][]string), got: make(map[string][]Header),
		done: make(chan struct{}),
	}
	for topic, callers := range topics {
		if n.Publication(topic) == nil {
			a.missing[topic] = slices.Clone(callers)
		}
	}
	var all []*Publication
	defer func() {
		for _, p := range all {
			p.Close()
		}
	}()
	for _, topic := range slices.Collect(maps.Keys(a.missing)) {
		note := func(h Header) (*Adapted, string) {
			a.note(topic, h)
			return nil, ""
		}
		p, err := n.Advertise(AdvertiseOptions{
			Topic: topic, Type: "*", MD5Sum: AnyMD5, Transient: true,
			Unfit: note,
		})
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

// note notes the header of a subscriber.
func (a *asking) note(topic string, h Header) {
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
	if a.missing[topic] = slices.DeleteFunc(a.missing[topic],
		func(s string) bool { return s == caller }); len(a.missing[topic]) == 0 {
		delete(a.missing, topic)
	}
	if before > 0 && len(a.missing) == 0 {
		close(a.done)
	}
}
