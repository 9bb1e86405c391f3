package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/tcpros"
)

const (
	// headerBytes bounds the connection headers of all publishers together, and what is
	// kept to account for each publisher. A header stays until the bag that has it is
	// closed: the index of the bag needs it.
	headerBytes = 16 << 20

	connectionOverhead = 512 // bytes that a connection or a publisher takes besides its texts, about
	fieldOverhead      = 40

	keptPublishers = 16 // accounts of publishers that are gone, of each topic
	keptLatched    = 16 // latched messages of such, of each topic

	namedBytes = 256 // of the name and the address of a publisher that are kept
)

// connections owns the connection headers of all publishers. Headers of publishers that
// are gone are released when no file, chunk or latched message needs them any more. It is
// guarded by intake.mu.
type connections struct {
	all         []*connection // by id
	next        bagfmt.ConnID // ids are not used again: a snapshot may outlive a connection
	held        int64         // bytes
	definitions map[string]*definition
}

// connection is one publisher's header on one topic. Several links may come and
// go on it.
type connection struct {
	source
	topic      *topic
	stored     int         // one more than the number of the last file that has its record, or will before any later chunk
	written    int         // the same of the last file to which the writer has brought a message of it
	links      int         // that are open
	size       int64       // bytes that connections counts for it, but for the definition
	definition *definition // nil if the header has none
	proven     bool        // it has sent a large message to the end
}

// definition is the text of a message type. All connections with the same text share it.
type definition struct {
	text  string
	uses  int
	owner *topic // that it counts for: the first with it
}

const definitionKey = "message_definition"

// sizeOf returns what the header of a new connection will take.
func (s *connections) sizeOf(h bagfmt.ConnectionHeader) int64 {
	size, defined := int64(connectionOverhead), false
	for _, f := range h {
		size += int64(fieldOverhead + len(f.Key))
		first := f.Key == definitionKey && !defined
		defined = defined || first
		if !first || s.definitions[f.Value] == nil {
			size += int64(len(f.Value))
		}
	}
	return size
}

// admits decides whether t may hold so many bytes more. As with messages, what a topic has
// is compared with what is left: the topic with the most is refused first.
func (s *connections) admits(t *topic, bytes int64) bool {
	return s.held+bytes <= headerBytes && t.headers+bytes <= memory.FairnessFactor*(headerBytes-s.held)
}

// find returns the connection of t with this header, or nil.
func (t *topic) find(h bagfmt.ConnectionHeader) *connection {
	i := slices.IndexFunc(t.conns, func(c *connection) bool { return slices.Equal(c.conn.Header, h) })
	if i < 0 {
		return nil
	}
	return t.conns[i]
}

// add makes a connection of t. It keeps no memory of h.
func (s *connections) add(t *topic, h bagfmt.ConnectionHeader) *connection {
	c := &connection{topic: t, size: connectionOverhead}
	own := make(bagfmt.ConnectionHeader, len(h))
	for i, f := range h {
		own[i].Key = strings.Clone(f.Key)
		c.bytes += 5 + len(f.Key) + len(f.Value)
		c.size += int64(fieldOverhead + len(f.Key))
		if f.Key == definitionKey && c.definition == nil {
			c.definition = s.share(t, f.Value)
			own[i].Value = c.definition.text
			continue
		}
		own[i].Value = strings.Clone(f.Value)
		c.size += int64(len(f.Value))
	}
	c.conn = &bagfmt.Connection{ID: s.next, Topic: t.name, Header: own}
	s.next++
	s.charge(t, c.size)
	s.all = append(s.all, c)
	t.conns = append(t.conns, c)
	return c
}

// of returns the account of a connection, nil if it was released.
func (s *connections) of(conn *bagfmt.Connection) *connection {
	i, ok := slices.BinarySearchFunc(s.all, conn.ID, func(c *connection, id bagfmt.ConnID) int { return cmp.Compare(c.conn.ID, id) })
	if !ok {
		return nil
	}
	return s.all[i]
}

// share returns the one copy of a definition.
func (s *connections) share(t *topic, text string) *definition {
	d := s.definitions[text]
	if d == nil {
		if s.definitions == nil {
			s.definitions = map[string]*definition{}
		}
		d = &definition{text: strings.Clone(text), owner: t}
		s.definitions[d.text] = d
		s.charge(t, int64(len(text)))
	}
	d.uses++
	return d
}

func (s *connections) charge(t *topic, bytes int64) {
	s.held += bytes
	t.headers += bytes
}

// release forgets the connections that which says, of those that no link uses.
func (s *connections) release(which func(*connection) bool) {
	left := map[*topic]bool{}
	s.all = slices.DeleteFunc(s.all, func(c *connection) bool {
		if c.links > 0 || !which(c) {
			return false
		}
		c.released, left[c.topic] = true, true
		s.charge(c.topic, -c.size)
		if d := c.definition; d != nil {
			if d.uses--; d.uses == 0 {
				delete(s.definitions, d.text)
				s.charge(d.owner, -int64(len(d.text)))
			}
		}
		return true
	})
	for t := range left {
		t.conns = slices.DeleteFunc(t.conns, func(c *connection) bool { return c.released })
	}
}

// headersFullError is why a publisher is refused.
type headersFullError struct {
	bytes, held int64
}

// Error implements error.
func (e *headersFullError) Error() string {
	return fmt.Sprintf("no memory for its connection header of %d bytes: the headers of its topic hold %d of %d; they are kept until the bag is closed: split the recording, or find out why they differ", e.bytes, e.held, headerBytes)
}

// admitHeader returns an error if there is no memory for the header of a publisher, unless c
// has it, and for its account. mu is held.
func (in *intake) admitHeader(t *topic, c *connection, info tcpros.LinkInfo) error {
	need := int64(0)
	if c == nil {
		need = in.connections.sizeOf(bagfmt.ConnectionHeader(info.Header))
	}
	if id := publisherID(info); t.publisher(id) == nil {
		need += publisherSize(id)
	}
	if need == 0 || in.pool.Budget < 0 || in.connections.admits(t, need) {
		return nil
	}
	t.refuse(info.PublisherURI)
	return &headersFullError{need, t.headers}
}

// mostRefused is how many refused publishers are told apart.
const mostRefused = 256

// refuse counts a publisher that was refused, once.
func (t *topic) refuse(uri string) {
	if t.refused == nil {
		t.refused = map[string]struct{}{}
	}
	if len(t.refused) < mostRefused {
		t.refused[clip(uri)] = struct{}{}
	}
}

// releaseGone forgets what is not needed of publishers that are gone: the oldest latched
// messages, connections and accounts. mu is held.
func (in *intake) releaseGone(now time.Time) {
	kept := map[*topic]int{}
	for _, c := range slices.Backward(in.connections.all) {
		if c.links > 0 || !in.latched.holdsLatched(&c.source) {
			continue
		}
		if kept[c.topic]++; kept[c.topic] > keptLatched {
			in.latched.forgetLatched(&c.source)
			in.latched.forgetStart(&c.source)
		}
	}
	if !in.ring.writing() { // its file has connections, too
		in.connections.release(in.unneeded)
	}
	for _, t := range in.topics {
		in.foldPublishers(t, keptPublishers, func(u *loss.Publisher) bool { return u.Settled(now) })
	}
}

// unneeded reports whether no file that is not closed, no chunk and no latched message has
// the connection. mu is held.
func (in *intake) unneeded(c *connection) bool {
	if in.latched.holdsLatched(&c.source) || c.topic.account.Waiting > 0 || in.open != nil && in.open.Builder.HasConn(c.conn.ID) {
		return false
	}
	if in.ring.needs(c.latest) {
		return false
	}
	return in.ring.isOnly() || int64(max(c.stored, c.written)) <= in.closedParts.Load()
}

// foldPublishers adds accounts that which says to those of former publishers, the oldest
// first, until no more than most are left. mu is held.
func (in *intake) foldPublishers(t *topic, most int, which func(*loss.Publisher) bool) {
	more := len(t.publishers) - most
	if more <= 0 {
		return
	}
	now := time.Now()
	t.publishers = slices.DeleteFunc(t.publishers, func(u *loss.Publisher) bool {
		if more == 0 || u.Links > 0 || !which(u) {
			return false
		}
		more--
		t.former.add(u, now)
		in.connections.charge(t, -publisherSize(u.ID))
		return true
	})
}

// publisherSize is what the account of a publisher takes.
func publisherSize(id string) int64 { return connectionOverhead + namedBytes + int64(len(id)) }

// clip returns a copy of a name or an address that is no longer than any that means
// something.
func clip(name string) string { return strings.Clone(name[:min(len(name), namedBytes)]) }

// FormerPublishers is the account of publishers that are gone, beyond the latest ones.
type FormerPublishers struct {
	Count       int
	Missed      uint64 // as in PublisherSummary, as is all that follows
	LinksLost   int
	Reconnected int
	Without     time.Duration
}

func (f *FormerPublishers) add(u *loss.Publisher, now time.Time) {
	f.Count++
	a := u.Account(now)
	f.Missed += a.Missed
	f.LinksLost += a.LinksLost
	f.Reconnected += a.Reconnected
	f.Without += a.Without
}
