package foxglove

import (
	"sync"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

// subscriptions are the channels that a viewer has subscribed to, by the IDs that the viewer chose.
// The reader and the writer of the connection share them.
type subscriptions struct {
	mu        sync.Mutex
	byID      map[uint32]live.ChannelID
	byChannel map[live.ChannelID]uint32
}

func newSubscriptions() subscriptions {
	return subscriptions{byID: map[uint32]live.ChannelID{}, byChannel: map[live.ChannelID]uint32{}}
}

// add adds a subscription, or returns the level and text of the status with the reason for refusing it.
func (s *subscriptions) add(id uint32, channel live.ChannelID) (level, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used := s.byID[id]; used {
		return levelError, usedID
	}
	if _, doubled := s.byChannel[channel]; doubled {
		return levelWarning, subscribed
	}
	s.byID[id], s.byChannel[channel] = channel, id
	return levelInfo, ""
}

// remove removes a subscription, and returns its channel if there was one.
func (s *subscriptions) remove(id uint32) (channel live.ChannelID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel, ok = s.byID[id]
	if ok {
		delete(s.byID, id)
		delete(s.byChannel, channel)
	}
	return channel, ok
}

// removeChannel removes the subscription to a channel that is gone.
func (s *subscriptions) removeChannel(channel live.ChannelID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.byChannel[channel]; ok {
		delete(s.byID, id)
		delete(s.byChannel, channel)
	}
}

// of returns the ID of the subscription to a channel.
func (s *subscriptions) of(channel live.ChannelID) (id uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok = s.byChannel[channel]
	return id, ok
}
