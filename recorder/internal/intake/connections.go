package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

const (
	// HeaderBytes bounds the connection headers of all publishers together, and what is
	// kept to account for each publisher. A header stays until the bag that has it is
	// closed: the index of the bag needs it.
	HeaderBytes = 16 << 20

	// ConnectionOverhead is about how many bytes a connection or a publisher takes besides its texts.
	ConnectionOverhead = 512
	fieldOverhead      = 40

	// KeptPublishers is how many accounts of publishers that are gone are kept of each topic.
	KeptPublishers = 16
	// KeptLatched is how many latched messages of such publishers are kept of each topic.
	KeptLatched = 16

	namedBytes = 256 // of the name and the address of a publisher that are kept
)

// Connections owns the connection headers of all publishers. Headers of publishers that
// are gone are released when no file, chunk or latched message needs them any more. It is
// guarded by intake.mu.
type Connections struct {
	All         []*Connection // by id
	next        rosbag.ConnID // ids are not used again: a snapshot may outlive a connection
	Held        int64         // bytes
	Definitions map[string]*definition
}

// Connection is one publisher's header on one topic. Several links may come and
// go on it.
type Connection struct {
	latch.Source
	Topic      *Topic
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
	owner *Topic // that it counts for: the first with it
}

const definitionKey = "message_definition"

// SizeOf returns what the header of a new connection will take.
func (s *Connections) SizeOf(h rosbag.Header) int64 {
	size, defined := int64(ConnectionOverhead), false
	for _, f := range h {
		size += int64(fieldOverhead + len(f.Key))
		first := f.Key == definitionKey && !defined
		defined = defined || first
		if !first || s.Definitions[f.Value] == nil {
			size += int64(len(f.Value))
		}
	}
	return size
}

// admits decides whether t may hold so many bytes more. As with messages, what a topic has
// is compared with what is left: the topic with the most is refused first.
func (s *Connections) admits(t *Topic, bytes int64) bool {
	return s.Held+bytes <= HeaderBytes && t.Headers+bytes <= memory.FairnessFactor*(HeaderBytes-s.Held)
}

// Find returns the connection of t with this header, or nil.
func (t *Topic) Find(h rosbag.Header) *Connection {
	i := slices.IndexFunc(t.Conns, func(c *Connection) bool { return slices.Equal(c.Conn.Header, h) })
	if i < 0 {
		return nil
	}
	return t.Conns[i]
}

// Add makes a connection of t. It keeps no memory of h.
func (s *Connections) Add(t *Topic, h rosbag.Header) *Connection {
	c := &Connection{Topic: t, size: ConnectionOverhead}
	own := make(rosbag.Header, len(h))
	for i, f := range h {
		own[i].Key = strings.Clone(f.Key)
		c.Bytes += 5 + len(f.Key) + len(f.Value)
		c.size += int64(fieldOverhead + len(f.Key))
		if f.Key == definitionKey && c.definition == nil {
			c.definition = s.share(t, f.Value)
			own[i].Value = c.definition.text
			continue
		}
		own[i].Value = strings.Clone(f.Value)
		c.size += int64(len(f.Value))
	}
	c.Conn = &rosbag.Connection{ID: s.next, Topic: t.Name, Header: own}
	s.next++
	s.charge(t, c.size)
	s.All = append(s.All, c)
	t.Conns = append(t.Conns, c)
	return c
}

// of returns the account of a connection, nil if it was released.
func (s *Connections) of(conn *rosbag.Connection) *Connection {
	i, ok := slices.BinarySearchFunc(s.All, conn.ID, func(c *Connection, id rosbag.ConnID) int { return cmp.Compare(c.Conn.ID, id) })
	if !ok {
		return nil
	}
	return s.All[i]
}

// share returns the one copy of a definition.
func (s *Connections) share(t *Topic, text string) *definition {
	d := s.Definitions[text]
	if d == nil {
		if s.Definitions == nil {
			s.Definitions = map[string]*definition{}
		}
		d = &definition{text: strings.Clone(text), owner: t}
		s.Definitions[d.text] = d
		s.charge(t, int64(len(text)))
	}
	d.uses++
	return d
}

func (s *Connections) charge(t *Topic, bytes int64) {
	s.Held += bytes
	t.Headers += bytes
}

// Release forgets the connections that which says, of those that no link uses.
func (s *Connections) Release(which func(*Connection) bool) {
	left := map[*Topic]bool{}
	s.All = slices.DeleteFunc(s.All, func(c *Connection) bool {
		if c.links > 0 || !which(c) {
			return false
		}
		c.Released, left[c.Topic] = true, true
		s.charge(c.Topic, -c.size)
		if d := c.definition; d != nil {
			if d.uses--; d.uses == 0 {
				delete(s.Definitions, d.text)
				s.charge(d.owner, -int64(len(d.text)))
			}
		}
		return true
	})
	for t := range left {
		t.Conns = slices.DeleteFunc(t.Conns, func(c *Connection) bool { return c.Released })
	}
}

// HeadersFullError is why a publisher is refused.
type HeadersFullError struct {
	bytes, held int64
}

// Error implements error.
func (e *HeadersFullError) Error() string {
	return fmt.Sprintf("no memory for its connection header of %d bytes: the headers of its topic hold %d of %d; they are kept until the bag is closed: split the recording, or find out why they differ", e.bytes, e.held, HeaderBytes)
}

// admitHeader returns an error if there is no memory for the header of a publisher, unless c
// has it, and for its account. mu is held.
func (in *Intake) admitHeader(t *Topic, c *Connection, info tcpros.LinkInfo) error {
	need := int64(0)
	if c == nil {
		need = in.Connections.SizeOf(rosbag.Header(info.Header))
	}
	if id := publisherID(info); t.publisher(id) == nil {
		need += publisherSize(id)
	}
	if need == 0 || in.Pool.Budget < 0 || in.Connections.admits(t, need) {
		return nil
	}
	t.refuse(info.PublisherURI)
	return &HeadersFullError{need, t.Headers}
}

// mostRefused is how many refused publishers are told apart.
const mostRefused = 256

// refuse counts a publisher that was refused, once.
func (t *Topic) refuse(uri string) {
	if t.refused == nil {
		t.refused = map[string]struct{}{}
	}
	if len(t.refused) < mostRefused {
		t.refused[clip(uri)] = struct{}{}
	}
}

// ReleaseGone forgets what is not needed of publishers that are gone: the oldest latched
// messages, connections and accounts. mu is held.
func (in *Intake) ReleaseGone(now time.Time) {
	kept := map[*Topic]int{}
	for _, c := range slices.Backward(in.Connections.All) {
		if c.links > 0 || !in.Latched.Holds(&c.Source) {
			continue
		}
		if kept[c.Topic]++; kept[c.Topic] > KeptLatched {
			in.Latched.Forget(&c.Source)
			in.Latched.ForgetStart(&c.Source)
		}
	}
	if !in.Ring.Writing() { // its file has connections, too
		in.Connections.Release(in.unneeded)
	}
	for _, t := range in.Topics {
		in.FoldPublishers(t, KeptPublishers, func(u *loss.Publisher) bool { return u.Settled(now) })
	}
}

// unneeded reports whether no file that is not closed, no chunk and no latched message has
// the connection. mu is held.
func (in *Intake) unneeded(c *Connection) bool {
	if in.Latched.Holds(&c.Source) || c.Topic.Account.Waiting > 0 || in.Open != nil && in.Open.Builder.HasConn(c.Conn.ID) {
		return false
	}
	if in.Ring.Needs(c.Latest) {
		return false
	}
	return in.Ring.IsOnly() || int64(max(c.stored, c.written)) <= in.closedParts.Load()
}

// FoldPublishers adds accounts that which says to those of former publishers, the oldest
// first, until no more than most are left. mu is held.
func (in *Intake) FoldPublishers(t *Topic, most int, which func(*loss.Publisher) bool) {
	more := len(t.Publishers) - most
	if more <= 0 {
		return
	}
	now := time.Now()
	t.Publishers = slices.DeleteFunc(t.Publishers, func(u *loss.Publisher) bool {
		if more == 0 || u.Links > 0 || !which(u) {
			return false
		}
		more--
		t.Former.add(u, now)
		in.Connections.charge(t, -publisherSize(u.ID))
		return true
	})
}

// publisherSize is what the account of a publisher takes.
func publisherSize(id string) int64 { return ConnectionOverhead + namedBytes + int64(len(id)) }

// clip returns a copy of a name or an address that is no longer than any that means
// something.
func clip(name string) string { return strings.Clone(name[:min(len(name), namedBytes)]) }

// Former is the account of publishers that are gone, beyond the latest ones.
type Former struct {
	Count       int
	Missed      uint64 // as in PublisherSummary, as is all that follows
	LinksLost   int
	Reconnected int
	Without     time.Duration
}

func (f *Former) add(u *loss.Publisher, now time.Time) {
	f.Count++
	a := u.Account(now)
	f.Missed += a.Missed
	f.LinksLost += a.LinksLost
	f.Reconnected += a.Reconnected
	f.Without += a.Without
}
