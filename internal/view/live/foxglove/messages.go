package foxglove

import (
	"encoding/json"
	"strings"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxRequestBytes bounds one message of a viewer: enough to subscribe to 20,000 topics at once.
const maxRequestBytes = 1 << 20

// Limits of one message that advertises channels.
const (
	advertisedAtOnce      = 100
	advertisedBytesAtOnce = 1 << 20 // of definitions
)

// distro is the ROS distribution that is sent to viewers, whatever ROS_DISTRO is: Foxglove and Lichtblick
// assume ROS 2 for every name except melodic and noetic.
const distro = "noetic"

// serverInfo is the first message to a viewer.
type serverInfo struct {
	Op           string            `json:"op"`
	Name         string            `json:"name"`
	Capabilities []string          `json:"capabilities"`
	Metadata     map[string]string `json:"metadata"`
	SessionID    string            `json:"sessionId,omitempty"`
	DataStart    *stamp            `json:"dataStartTime,omitempty"`
	DataEnd      *stamp            `json:"dataEndTime,omitempty"`
}

type stamp struct {
	Sec  uint32 `json:"sec"`
	Nsec uint32 `json:"nsec"`
}

func stampOf(t rosbag.Time) *stamp { return &stamp{t.Sec, t.Nsec} }

// channel is the advertisement of a channel.
type channel struct {
	ID             live.ChannelID `json:"id"`
	Topic          string         `json:"topic"`
	Encoding       string         `json:"encoding"`
	SchemaName     string         `json:"schemaName"`
	Schema         string         `json:"schema"`
	SchemaEncoding string         `json:"schemaEncoding"`
}

func channelOf(c *live.Channel) channel {
	return channel{c.ID, c.Topic, "ros1", c.Type, c.Definition, "ros1msg"}
}

// level is the severity of a status.
type level int

const (
	levelInfo level = iota
	levelWarning
	levelError
)

// status is a text for the user of a viewer. Texts are constant, because viewers list each distinct text.
// A status with an ID replaces the previous status with the same ID.
type status struct {
	Op      string `json:"op"`
	Level   level  `json:"level"`
	Message string `json:"message"`
	ID      string `json:"id,omitempty"`
}

// graphUpdate holds the changes of the connection graph.
type graphUpdate struct {
	Op         string         `json:"op"`
	Published  []publishedBy  `json:"publishedTopics"`
	Subscribed []subscribedBy `json:"subscribedTopics"`
	Services   []providedBy   `json:"advertisedServices"`
	Topics     []string       `json:"removedTopics"`
	Gone       []string       `json:"removedServices"`
}

type publishedBy struct {
	Name  string   `json:"name"`
	Nodes []string `json:"publisherIds"`
}

type subscribedBy struct {
	Name  string   `json:"name"`
	Nodes []string `json:"subscriberIds"`
}

type providedBy struct {
	Name  string   `json:"name"`
	Nodes []string `json:"providerIds"`
}

// encode returns a message as JSON in valid UTF-8.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("foxglove: " + err.Error()) // only own types are marshaled
	}
	return b
}

func encodeStatus(l level, text, id string) []byte {
	return encode(status{Op: "status", Level: l, Message: text, ID: id})
}

func encodeRemoveStatus(id string) []byte {
	return encode(struct {
		Op  string   `json:"op"`
		IDs []string `json:"statusIds"`
	}{"removeStatus", []string{id}})
}

// encodeAdvertise returns the messages that advertise channels.
func encodeAdvertise(channels []live.Channel) (messages [][]byte) {
	for first := true; first || len(channels) > 0; first = false {
		batch, bytes := []channel{}, 0
		for len(channels) > 0 && len(batch) < advertisedAtOnce &&
			(len(batch) == 0 || bytes+len(channels[0].Definition) <= advertisedBytesAtOnce) {
			bytes += len(channels[0].Definition)
			batch = append(batch, channelOf(&channels[0]))
			channels = channels[1:]
		}
		messages = append(messages, encode(struct {
			Op       string    `json:"op"`
			Channels []channel `json:"channels"`
		}{"advertise", batch}))
	}
	return messages
}

func encodeUnadvertise(ids []live.ChannelID) []byte {
	return encode(struct {
		Op  string           `json:"op"`
		IDs []live.ChannelID `json:"channelIds"`
	}{"unadvertise", ids})
}

// request is a JSON message of a viewer, as far as it is understood.
type request struct {
	Op            string `json:"op"`
	Subscriptions []struct {
		ID      *uint32 `json:"id"`
		Channel *uint32 `json:"channelId"`
	} `json:"subscriptions"`
	SubscriptionIDs []uint32 `json:"subscriptionIds"`
}

// parseRequest reads a JSON message of a viewer. ok is false if the message is not understood.
func parseRequest(b []byte) (r request, ok bool) {
	if json.Unmarshal(b, &r) != nil || r.Op == "" {
		return request{}, false
	}
	for _, s := range r.Subscriptions {
		if s.ID == nil || s.Channel == nil {
			return request{}, false
		}
	}
	return r, true
}

// refusals are the operations that are not offered, with the texts for the viewer.
var refusals = map[string]string{
	"advertise":                   noPublishing,
	"unadvertise":                 noPublishing,
	"getParameters":               noParameters,
	"setParameters":               noParameters,
	"subscribeParameterUpdates":   noParameters,
	"unsubscribeParameterUpdates": noParameters,
	"fetchAsset":                  noAssets,
}

// Texts of statuses.
const (
	noPublishing  = "Publishing is not possible: this server is for viewing only"
	noParameters  = "Parameters are not available: this server is for viewing messages only"
	noServices    = "Services cannot be called: this server is for viewing only"
	noAssets      = "Assets are not available: this server is for viewing messages only"
	noGraph       = "The connection graph is not available"
	noPlayback    = "Playback cannot be controlled: this server sends live messages"
	invalid       = "Invalid message: it is not understood"
	unknownOp     = "Invalid message: this operation is not known"
	unknownTopic  = "Subscription refused: there is no such channel"
	usedID        = "Subscription refused: its ID is in use"
	subscribed    = "Subscription ignored: the channel is subscribed to already"
	ending        = "The server ends"
	tooManyText   = "Too many viewers are connected: close one of them"
	tooLargeText  = "A message is too large for this viewer's share of the memory, and is not shown"
	skippingText  = "Send buffer limit reached" // viewers know this text, and explain it
	skippingID    = "skipping"
	tooLargeID    = "too-large"
	noticeID      = "topic:" // with the name of the topic
	graphFailedID = "graph"
	graphFailed   = "The connection graph could not be read from the ROS master"
)

// plain returns a text of a peer as one line of bounded length.
func plain(text string) string {
	const most = 500
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}
