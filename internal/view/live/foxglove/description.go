package foxglove

import (
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

// description is the state of the source as it was last sent to one viewer. It does no I/O.
type description struct {
	session  string
	info     []byte                    // the last server info
	channels map[live.ChannelID]string // their topics
	topics   map[string]live.ChannelID // the channel that was advertised for each topic
	notices  map[string]string
}

func newDescription() description {
	return description{
		channels: map[live.ChannelID]string{}, topics: map[string]live.ChannelID{},
		notices: map[string]string{},
	}
}

// update compares channels with the description, and changes the description to them; the caller sends the
// difference. Of several channels of one topic only the first is advertised, because viewers show only one.
func (d *description) update(channels []live.Channel) (gone []live.ChannelID, fresh []live.Channel) {
	open := make(map[live.ChannelID]bool, len(channels))
	for i := range channels {
		open[channels[i].ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(d.channels)) {
		if !open[id] {
			gone = append(gone, id)
			delete(d.topics, d.channels[id])
			delete(d.channels, id)
		}
	}
	for i := range channels {
		c := &channels[i]
		if _, told := d.topics[c.Topic]; !told {
			fresh = append(fresh, *c)
			d.channels[c.ID], d.topics[c.Topic] = c.Topic, c.ID
		}
	}
	return gone, fresh
}

// updateNotices returns the statuses for notices that have changed.
func (d *description) updateNotices(notices map[string]string) (messages [][]byte) {
	for _, topic := range slices.Sorted(maps.Keys(d.notices)) {
		if notices[topic] == "" {
			messages = append(messages, encodeRemoveStatus(noticeID+plain(topic)))
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(notices)) {
		if d.notices[topic] != notices[topic] {
			messages = append(messages,
				encodeStatus(levelWarning, plain(notices[topic]), noticeID+plain(topic)))
		}
	}
	d.notices = notices
	return messages
}
