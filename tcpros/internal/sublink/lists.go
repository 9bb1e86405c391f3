package sublink

import (
	"slices"

	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// unreached returns the number of publishers of s that the last attempt did not reach.
func (c *Connector) unreached(s *Subscription) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, l := range s.links {
		if l.sched.failing {
			n++
		}
	}
	return n
}

// update updates the links of s from a list.
func (c *Connector) update(s *Subscription, p rosapi.Publishers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.closed {
		return
	}
	known := make(map[string]*link, len(s.links))
	for _, l := range s.links {
		known[l.uri] = l
	}
	listed := make(map[string]bool, len(p.URIs))
	// Start with the end of the list: the publishers there registered last, so they are most likely
	// alive.
	for _, uri := range slices.Backward(p.URIs) {
		if listed[uri] {
			continue
		}
		listed[uri] = true
		if l := known[uri]; l != nil {
			l.listed.Store(true)
			l.orphan.Store(false)
			l.sched.epoch, l.sched.idleChecks = p.Epoch, 0
			delete(c.unlisted, l)
			if p.RetryNow {
				c.retryLocked(l)
			}
			continue
		}
		if l := s.newLink(uri); l != nil {
			l.sched.epoch = p.Epoch
			l.sched.place = len(s.links)
			s.links = append(s.links, l)
			c.addLocked(l)
			if p.RetryNow {
				c.retryLocked(l)
			}
		}
	}
	for uri, l := range known {
		if listed[uri] {
			continue
		}
		c.unlisted[l] = struct{}{}
		// A publisher that the same master listed before, and no longer lists, is gone. Its link is
		// read to the end; stock closes the link and loses the messages in transit. A restarted
		// master does not know a publisher until the publisher registers again, and most never do:
		// links to such publishers stay.
		if l.sched.epoch == p.Epoch {
			l.listed.Store(false)
			// A session in progress may have received messages: the publisher may be listed again
			// at once, and a second session would repeat the latched messages. dropUnlisted ends
			// the session.
			if !l.sched.running || l.sched.peer.leader == l {
				c.dropLocked(l)
			}
		} else if l.listed.Load() {
			l.orphan.Store(true)
		}
	}
	c.signal()
}

// dropUnlisted closes unlisted links that were idle in lingerChecks checks in a row.
func (c *Connector) dropUnlisted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.unlisted {
		most := orphanChecks
		moved := l.isUp.Load()
		if !l.listed.Load() {
			most = lingerChecks
			// A link that waits for its sink is not idle: data may wait in the socket, and closing
			// the link would lose the data.
			b := l.stats.bytes.Load()
			moved = b != l.sched.lastBytes || l.isUp.Load() && !l.stats.reading.Load()
			l.sched.lastBytes = b
		}
		if moved {
			l.sched.idleChecks = 0
		} else if l.sched.idleChecks++; l.sched.idleChecks >= most {
			l.listed.Store(false)
			c.dropLocked(l)
		}
	}
}

// close ends the links of s, and forgets the links that have ended.
func (c *Connector) close(s *Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.closed = true
	for _, l := range slices.Clone(s.links) { // drop removes links from s.links
		c.dropLocked(l)
	}
}
