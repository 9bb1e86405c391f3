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

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// unreadReplies records the parts of the master's replies that could not be read. Any node can
// register names of any length, which the master then repeats to all others. unreadReplies is for
// concurrent use.
type unreadReplies struct {
	mu sync.Mutex
	// by method and topic, for polled methods: description of the unread part of the last reply
	now map[string]string
	// the latest description; kept forever
	last string
}

// polled are the methods that the node calls repeatedly: a later reply shows when all of it can be
// read again.
var polled = map[string]bool{"getPublishedTopics": true, "getSystemState": true, "registerSubscriber": true}

// note records how completely a reply of the master was read: skipped is the number of texts that
// were left out, err the reason why nothing was read. topic is empty if the call has no topic.
func (u *unreadReplies) note(log *zap.Logger, hostport, method, topic string, skipped int, err error) {
	what := ""
	switch {
	case errors.Is(err, xmlrpc.ErrLimit) || errors.Is(err, xmlrpc.ErrMalformed):
		what = fmt.Sprintf("%s: %v", method, err)
	case err != nil && !errors.Is(err, ErrStatus):
		return // the reply was not read to its end: the next reply decides
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
			zap.String("master", hostport), zap.String("method", method), zap.Int("too long", skipped),
			zap.Error(err))
	}
}

// forget is called when the node no longer asks for the publishers of a topic.
func (u *unreadReplies) forget(topic string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.now, replyKey("registerSubscriber", topic))
}

func replyKey(method, topic string) string { return method + " " + topic }

// Unread describes the parts of the master's replies that could not be read, such as names that are
// too long. now describes the latest replies to calls that the node repeats; it is empty if all of
// them were read in full. ever is the latest description that was not empty.
func (m *Master) Unread() (now, ever string) {
	m.unread.mu.Lock()
	defer m.unread.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Values(m.unread.now)), ", "), m.unread.last
}
