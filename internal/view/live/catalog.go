package live

import (
	"maps"
	"slices"
	"sync"
)

// catalog is what a store offers its viewers: channels and notices. Its lock is held for a moment only,
// so that a source never waits when a topic comes or goes.
type catalog struct {
	mu    sync.Mutex
	feeds map[ChannelID]*Feed
	// in the order in which they were opened, with closed ones, see sweep; its elements never change
	channels []Channel
	last     ChannelID
	// by topic
	notices map[string]string
	changed chan struct{}
}

// open adds a channel, and assigns its ID.
func (c *catalog) open(s *Store, channel Channel) *Feed {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	channel.ID = c.last
	f := &Feed{store: s, channel: channel}
	c.feeds[channel.ID] = f
	c.channels = append(c.channels, channel)
	c.tellChange()
	return f
}

// close removes a channel, and reports whether it was there.
func (c *catalog) close(f *Feed) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feeds[f.channel.ID] != f {
		return false
	}
	delete(c.feeds, f.channel.ID)
	if len(c.channels) > 2*len(c.feeds) {
		c.sweep()
	}
	c.tellChange()
	return true
}

// sweep removes closed channels from the list: not at each close, because the end of a recording closes
// thousands of channels, one by one. Called with the lock.
func (c *catalog) sweep() {
	if len(c.channels) == len(c.feeds) {
		return
	}
	left := make([]Channel, 0, len(c.feeds)) // others may be reading the old slice
	for i := range c.channels {
		if c.feeds[c.channels[i].ID] != nil {
			left = append(left, c.channels[i])
		}
	}
	c.channels = left
}

// feed returns the feed of a channel; nil if it is not open.
func (c *catalog) feed(id ChannelID) *Feed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.feeds[id]
}

// Channels returns the open channels in the order in which they were opened. The slice must not be changed.
func (c *catalog) Channels() []Channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	return slices.Clip(c.channels)
}

// SetNotice sets a text that viewers show about a topic, such as that the topic has a second type
// which they cannot see. An empty text removes the notice. The text must not contain figures that
// change: viewers list each distinct text.
func (c *catalog) SetNotice(topic, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notices[topic] == text {
		return
	}
	if text == "" {
		delete(c.notices, topic)
	} else {
		c.notices[topic] = text
	}
	c.tellChange()
}

// Notices returns the notices by topic.
func (c *catalog) Notices() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.notices)
}

// Changed returns a channel that is closed at the next change of the channels or notices, or by
// Change. Call Changed before Channels, so that no change is missed.
func (c *catalog) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Change reports that the result of Source.Info has changed.
func (c *catalog) Change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tellChange()
}

// tellChange closes the channel of Changed. Called with the lock.
func (c *catalog) tellChange() {
	close(c.changed)
	c.changed = make(chan struct{})
}
