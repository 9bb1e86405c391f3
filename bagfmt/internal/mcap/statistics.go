package mcap

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	statisticsPairBytes = 2 + 8 // of the counts of channels: id and messages
	maxToldChannels     = 5     // of an error about counts
)

// ParseStatistics returns what the statistics count. Those of some writers count no channels.
func ParseStatistics(b []byte) (*rosbag.MCAPCounts, error) {
	c := content{b: b}
	counts := &rosbag.MCAPCounts{Messages: c.u64()}
	if err := c.done("statistics"); err != nil {
		return nil, err
	}
	c.take(2 + 4*4 + 2*8) // schemas, channels, attachments, metadata records and chunks; times
	pairs := c.bytes()
	for ; len(pairs) >= statisticsPairBytes; pairs = pairs[statisticsPairBytes:] {
		if counts.Channels == nil {
			counts.Channels = make(map[rosbag.ConnID]uint64)
		}
		channel := rosbag.ConnID(binary.LittleEndian.Uint16(pairs))
		counts.Channels[channel] = binary.LittleEndian.Uint64(pairs[2:])
	}
	return counts, nil
}

// Found counts the messages of a file, by channel.
type Found struct {
	Messages uint64
	channels []uint64 // by id, as far as messages were found
}

// Add counts n messages of a channel.
func (f *Found) Add(channel uint16, n uint64) {
	f.Messages += n
	for int(channel) >= len(f.channels) {
		f.channels = append(f.channels, 0)
	}
	f.channels[channel] += n
}

// Compare returns the error that the statistics, in the record or section at offset at, count other
// messages than were found.
func (f *Found) Compare(stated *rosbag.MCAPCounts, channels *Channels, at int64) error {
	var differ []string
	for id, known := range channels.channels {
		var found uint64
		if int(id) < len(f.channels) {
			found = f.channels[id]
		}
		if n := stated.Channels[rosbag.ConnID(id)]; n != found && stated.Channels != nil {
			differ = append(differ, fmt.Sprintf("%d of %d of %.80s", found, n, known.topic))
		}
	}
	switch {
	case stated.Messages == f.Messages && len(differ) == 0:
		return nil
	case len(differ) == 0:
		return wire.Corrupt(at, 0, "%d messages were found, the statistics know of %d", f.Messages,
			stated.Messages)
	}
	slices.Sort(differ)
	if more := len(differ) - maxToldChannels; more > 0 {
		differ = append(differ[:maxToldChannels:maxToldChannels],
			fmt.Sprintf("and of %d more channels", more))
	}
	return wire.Corrupt(at, 0, "%d messages were found, the statistics know of %d: %s", f.Messages,
		stated.Messages, strings.Join(differ, ", "))
}
