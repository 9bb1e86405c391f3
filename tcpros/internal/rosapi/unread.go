package rosapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
)

// unreadReplies notes what could not be read of the master's replies. Any node can register names
// of any length, which the master then repeats to all others. It is for concurrent use.
type unreadReplies struct {
	mu   sync.Mutex
	now  map[string]string // by what is asked again and again: what was not read of the last reply
	last string            // the latest one ever
}

// polled are the methods that are called again and again, so that a later reply tells when all is
// well.
var polled = map[string]bool{"getPublishedTopics": true, "getSystemState": true, "registerSubscriber": true}

// note records how a reply of the master about a topic, if it is about one, was read: skipped texts
// were left out, or err is why there is none.
func (u *unreadReplies) note(log *zap.Logger, hostport, method, topic string, skipped int, err error) {
	what := ""
	switch {
	case errors.Is(err, xmlrpc.ErrLimit) || errors.Is(err, xmlrpc.ErrMalformed):
		what = fmt.Sprintf("%s: %v", method, err)
	case err != nil && !errors.Is(err, ErrStatus):
		return // it was not read to the end: the next reply will tell
	case skipped > 0:
		what = fmt.Sprintf("%s: %d too long", method, skipped)
	}
	key := replyKey(method, topic)
	u.mu.Lock()
	switch {
	case what == "":
		delete(u.now, key)
	case !polled[method]:
	case u.now == nil:
		u.now = map[string]string{key: what}
	default:
		u.now[key] = what
	}
	u.last = cmp.Or(what, u.last)
	u.mu.Unlock()
	if what != "" {
		log.Warn("a reply of the master cannot be read in full: the rest of it counts; find out which node registers such names",
			zap.String("master", hostport), zap.String("method", method), zap.Int("too long", skipped), zap.Error(err))
	}
}

// forget is called when the publishers of a topic are asked for no longer.
func (u *unreadReplies) forget(topic string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.now, replyKey("registerSubscriber", topic))
}

func replyKey(method, topic string) string { return method + " " + topic }

// Unread says what could not be read of the master's replies, such as names that are too long. now is
// about the last replies to what is asked again and again; empty if all were read in full. ever is
// the latest text that was not empty.
func (m *Master) Unread() (now, ever string) {
	m.unread.mu.Lock()
	defer m.unread.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Values(m.unread.now)), ", "), m.unread.last
}
