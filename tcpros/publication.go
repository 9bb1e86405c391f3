package tcpros

// AdvertiseOptions say what is offered.
type AdvertiseOptions struct {
	Topic             string
	Type              string
	MD5Sum            string
	MessageDefinition string
	Latching          bool
	QueueFrames       int // frames held for each subscriber; zero means unlimited
}

// Publication offers one topic to all its subscribers.
type Publication struct{}

// Source is one original publisher of a topic.
type Source struct{}

// Source adds a source. The last frame of a latching source is sent to each new
// subscriber.
func (p *Publication) Source(latching bool) *Source { panic("tcpros: not yet") }

// Publish sends a frame, <u32 length><payload>, to every subscriber. The frame is
// shared and must not be modified afterwards. It never blocks: a full queue drops
// its oldest frame and counts it.
func (s *Source) Publish(frame []byte) { panic("tcpros: not yet") }

// Topic returns the resolved name.
func (p *Publication) Topic() string { panic("tcpros: not yet") }

// Subscribers returns the number of links that are up.
func (p *Publication) Subscribers() int { panic("tcpros: not yet") }

// Dropped returns how many frames full queues have dropped, over all subscribers.
func (p *Publication) Dropped() uint64 { panic("tcpros: not yet") }

// Stats returns the state of each link.
func (p *Publication) Stats() []SubscriberStats { panic("tcpros: not yet") }

// SubscriberStats is the state of the link to one subscriber.
type SubscriberStats struct {
	CallerID string
	Peer     string // host:port
	Queued   int    // frames waiting
	Frames   uint64 // frames written to the socket
	Bytes    uint64
	Dropped  uint64 // frames dropped from the full queue
}

// Close ends every link at once, without flushing. Unregistering is left to the node.
func (p *Publication) Close() { panic("tcpros: not yet") }
