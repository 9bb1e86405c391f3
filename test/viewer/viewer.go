package viewer

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Channel is what the server offers of a topic.
type Channel struct {
	ID             uint32 `json:"id"`
	Topic          string `json:"topic"`
	Encoding       string `json:"encoding"`
	SchemaName     string `json:"schemaName"`
	Schema         string `json:"schema"`
	SchemaEncoding string `json:"schemaEncoding"`
}

// Time is a time in JSON.
type Time struct{ Sec, Nsec uint32 }

// Nanoseconds returns the time since 1970.
func (t Time) Nanoseconds() uint64 { return uint64(t.Sec)*1e9 + uint64(t.Nsec) }

// Info is what the server says of itself.
type Info struct {
	Name          string            `json:"name"`
	Capabilities  []string          `json:"capabilities"`
	SessionID     string            `json:"sessionId"`
	Metadata      map[string]string `json:"metadata"`
	DataStartTime *Time             `json:"dataStartTime"`
	DataEndTime   *Time             `json:"dataEndTime"`
}

// Status is a notice of the server.
type Status struct {
	Level   int    `json:"level"`
	Message string `json:"message"`
	ID      string `json:"id"`
}

// Graph is a change of the connection graph.
type Graph struct {
	PublishedTopics []struct {
		Name         string   `json:"name"`
		PublisherIDs []string `json:"publisherIds"`
	} `json:"publishedTopics"`
	SubscribedTopics []struct {
		Name          string   `json:"name"`
		SubscriberIDs []string `json:"subscriberIds"`
	} `json:"subscribedTopics"`
	AdvertisedServices []struct {
		Name        string   `json:"name"`
		ProviderIDs []string `json:"providerIds"`
	} `json:"advertisedServices"`
	RemovedTopics   []string `json:"removedTopics"`
	RemovedServices []string `json:"removedServices"`
}

// Kind says what an Event is.
type Kind int

// The kinds of events.
const (
	Greeting    Kind = iota // Viewer.Info has it
	Advertise               // Channels
	Unadvertise             // IDs
	Notice                  // Status
	Data                    // Topic, At, Payload
	Clock                   // At
	State                   // Playback
	GraphUpdate             // Graph
)

// Playback is the state of playback.
type Playback struct {
	Status  int // 0 playing, 1 paused, 2 buffering, 3 ended
	At      uint64
	Speed   float32
	DidSeek bool
	Request string // the ID of the request that is answered; empty for none
}

// Event is one message of the server.
type Event struct {
	Kind     Kind
	Channels []Channel
	IDs      []uint32
	Status   Status
	Topic    string // of a message
	At       uint64 // ns since 1970
	Payload  []byte // of a message
	Playback Playback
	Graph    Graph
}

// Viewer reads a connection to its end and remembers all events.
type Viewer struct {
	Conn *Conn

	mu       sync.Mutex
	info     []Info
	open     map[uint32]Channel // by ID: offered now
	subs     map[uint32]uint32  // channel ID of each subscription
	topics   map[uint32]string  // of each subscription
	next     uint32             // the next subscription
	expected []Channel          // by Expect
	events   []Event
	end      error
	done     chan struct{}
}

// Start connects and reads until the connection ends.
func Start(ctx context.Context, address string, o Options) (*Viewer, error) {
	c, err := Dial(ctx, address, o)
	if err != nil {
		return nil, err
	}
	v := &Viewer{Conn: c, open: map[uint32]Channel{}, subs: map[uint32]uint32{}, topics: map[uint32]string{}, next: 100, done: make(chan struct{})}
	// owner: Close; ends with the connection.
	go v.run()
	return v, nil
}

// Close ends the connection and waits for the reader.
func (v *Viewer) Close() {
	v.Conn.Close() //nolint:errcheck // the reader notices
	<-v.done
}

// Done returns a channel that is closed when the connection has ended.
func (v *Viewer) Done() <-chan struct{} { return v.done }

// End returns how the connection has ended; nil before.
func (v *Viewer) End() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.end
}

func (v *Viewer) run() {
	defer close(v.done)
	for {
		op, payload, err := v.Conn.Read(nil)
		if err == nil {
			err = v.take(op, payload)
		}
		if err != nil {
			v.mu.Lock()
			v.end = err
			v.mu.Unlock()
			return
		}
	}
}

func (v *Viewer) take(op byte, payload []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if op == OpText {
		return v.takeText(payload)
	}
	return v.takeBinary(payload)
}

func (v *Viewer) takeText(b []byte) error {
	var m struct {
		Op         string    `json:"op"`
		Channels   []Channel `json:"channels"`
		ChannelIDs []uint32  `json:"channelIds"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("viewer: %w in %.200q", err, b)
	}
	e := Event{}
	switch m.Op {
	case "serverInfo":
		var i Info
		if err := json.Unmarshal(b, &i); err != nil {
			return err
		}
		v.info = append(v.info, i)
		clear(v.open) // the channels that follow are all that there are
		e.Kind = Greeting
	case "advertise":
		e.Kind, e.Channels = Advertise, m.Channels
		for _, c := range m.Channels {
			if _, twice := v.open[c.ID]; twice {
				return fmt.Errorf("viewer: channel %d is advertised twice", c.ID)
			}
			v.open[c.ID] = c
		}
	case "unadvertise":
		e.Kind, e.IDs = Unadvertise, m.ChannelIDs
		for _, id := range m.ChannelIDs {
			if _, known := v.open[id]; !known {
				return fmt.Errorf("viewer: channel %d is unadvertised and was not advertised", id)
			}
			delete(v.open, id)
		}
	case "status":
		e.Kind = Notice
		if err := json.Unmarshal(b, &e.Status); err != nil {
			return err
		}
	case "removeStatus":
		return nil
	case "connectionGraphUpdate":
		e.Kind = GraphUpdate
		if err := json.Unmarshal(b, &e.Graph); err != nil {
			return err
		}
	default:
		return fmt.Errorf("viewer: unknown op %q", m.Op)
	}
	v.events = append(v.events, e)
	return nil
}

func (v *Viewer) takeBinary(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	e := Event{}
	switch op, body := b[0], b[1:]; {
	case op == 1 && len(body) >= 12:
		sub := binary.LittleEndian.Uint32(body)
		topic, known := v.topics[sub]
		if !known {
			return fmt.Errorf("viewer: a message of subscription %d, which there never was", sub)
		}
		e = Event{Kind: Data, Topic: topic, At: binary.LittleEndian.Uint64(body[4:]), Payload: body[12:]}
	case op == 2 && len(body) == 8:
		e = Event{Kind: Clock, At: binary.LittleEndian.Uint64(body)}
	case op == 5 && len(body) >= 18:
		e.Kind = State
		e.Playback = Playback{
			Status: int(body[0]), At: binary.LittleEndian.Uint64(body[1:]),
			Speed: math.Float32frombits(binary.LittleEndian.Uint32(body[9:])), DidSeek: body[13] != 0, Request: string(body[18:]),
		}
		if n := binary.LittleEndian.Uint32(body[14:]); int(n) != len(body)-18 {
			return fmt.Errorf("viewer: a state with a request ID of %d of %d bytes", n, len(body)-18)
		}
	default:
		return fmt.Errorf("viewer: binary message % x", b[:min(len(b), 32)])
	}
	v.events = append(v.events, e)
	return nil
}

// Events returns all events so far. They are not to be modified.
func (v *Viewer) Events() []Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clip(v.events)
}

// Info returns all that the server has said of itself, in order.
func (v *Viewer) Info() []Info {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.info)
}

// Channel returns the channel of a topic that is offered now.
func (v *Viewer) Channel(topic string) (Channel, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.open {
		if c.Topic == topic {
			return c, true
		}
	}
	for _, c := range v.expected {
		if c.Topic == topic {
			return c, true
		}
	}
	return Channel{}, false
}

// Expect makes a channel known that another viewer of the same server was told of: a viewer that
// reads slowly learns of it late.
func (v *Viewer) Expect(c Channel) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expected = append(v.expected, c)
}

// Topics returns the names of the topics that are offered now, sorted.
func (v *Viewer) Topics() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for _, c := range v.open {
		names = append(names, c.Topic)
	}
	slices.Sort(names)
	return names
}

// Subscribe subscribes to topics that are offered now, in one request.
func (v *Viewer) Subscribe(topics ...string) error {
	type subscription struct {
		ID        uint32 `json:"id"`
		ChannelID uint32 `json:"channelId"`
	}
	var all []subscription
	for _, topic := range topics {
		c, ok := v.Channel(topic)
		if !ok {
			return fmt.Errorf("viewer: topic %s is not offered", topic)
		}
		v.mu.Lock()
		v.next++
		v.subs[v.next], v.topics[v.next] = c.ID, topic
		all = append(all, subscription{v.next, c.ID})
		v.mu.Unlock()
	}
	return v.Conn.WriteJSON(map[string]any{"op": "subscribe", "subscriptions": all})
}

// Unsubscribe ends all subscriptions of a topic.
func (v *Viewer) Unsubscribe(topic string) error {
	var ids []uint32
	v.mu.Lock()
	for id, name := range v.topics {
		if name == topic && v.subs[id] != 0 {
			ids = append(ids, id)
			delete(v.subs, id)
		}
	}
	v.mu.Unlock()
	return v.Conn.WriteJSON(map[string]any{"op": "unsubscribe", "subscriptionIds": ids})
}

// Commands of playback control.
const (
	Play  = 0
	Pause = 1
)

// Control sends a request to control playback. seek is a time in ns since 1970; nil means none.
func (v *Viewer) Control(command byte, speed float32, seek *uint64, id string) error {
	b := []byte{3, command}
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(speed))
	if seek == nil {
		b = append(b, make([]byte, 9)...)
	} else {
		b = binary.LittleEndian.AppendUint64(append(b, 1), *seek)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(id)))
	return v.Conn.WriteFrame(true, OpBinary, append(b, id...))
}

// Messages returns the messages of a topic so far.
func (v *Viewer) Messages(topic string) (all []Event) {
	for _, e := range v.Events() {
		if e.Kind == Data && e.Topic == topic {
			all = append(all, e)
		}
	}
	return all
}

// Statuses returns the notices so far.
func (v *Viewer) Statuses() (all []Status) {
	for _, e := range v.Events() {
		if e.Kind == Notice {
			all = append(all, e.Status)
		}
	}
	return all
}

// States returns the states of playback so far.
func (v *Viewer) States() (all []Playback) {
	for _, e := range v.Events() {
		if e.Kind == State {
			all = append(all, e.Playback)
		}
	}
	return all
}
