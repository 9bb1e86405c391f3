package control

import "time"

// Summary is what a Run did.
type Summary struct {
	Topics         []TopicSummary // in the order of their first connection
	Messages       uint64
	Bytes          uint64        // payload, without the lengths of the frames
	Played         time.Duration // bag time, all passes; at most 292 years
	Elapsed        time.Duration // wall time from the first to the last message, pauses excluded
	Timing         Timing
	Starved        uint64         // times that play had to wait for the disk or for decompression
	Dropped        uint64         // messages that a subscriber did not get because its queue was full, or because of Unconverted
	Unconverted    uint64         // messages that could not be made what subscribers want, with Options.ToWanted, for each version
	Unstamped      uint64         // messages that kept their stamps, in spite of Options.Stamps: they do not fit their definition
	Unplayable     []Unplayable   // connections that could not be published
	Damage         []*DamageError // the rest of the bags was played
	RebuiltIndexes int            // damaged chunk indexes that were rebuilt without loss
	UDPOnly        []string       // subscribers that take UDPROS only and got nothing: NODE of TOPIC
	Refused        []string       // subscribers that no file descriptor was left for: NODE of TOPIC
	Undelivered    error          // the error of Drain if subscribers did not receive everything
	NoMaster       bool           // the master never answered, so that nothing was played
	Interrupted    bool           // the context ended before the last message
}

// Achieved returns the rate that play achieved, as bag time per wall time; 0 if no wall time passed.
func (s *Summary) Achieved() float64 { return achieved(s.Played, s.Elapsed) }

func achieved(played, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(played) / float64(elapsed)
}

// TopicSummary counts what was published on one topic.
type TopicSummary struct {
	Name        string // as published
	Type        string
	Messages    uint64
	Bytes       uint64
	Subscribers int    // at the end of play
	Dropped     uint64 // by full queues, over all subscribers, and those that could not be converted
	Unstamped   uint64
}

// Unplayable is a connection of a bag whose messages could not be published.
type Unplayable struct {
	Bag      string
	Topic    string // as published
	Type     string
	MD5Sum   string
	Reason   string
	Remedy   string // the option of goplay that makes it playable, and which option it has to precede; may be empty
	Messages uint64 // skipped during play
}

// Lossy reports whether something in the bags did not reach a subscriber, could not
// be read, or was damaged. An interruption by the caller is not a loss.
func (s *Summary) Lossy() bool {
	return s.Dropped > 0 || len(s.Unplayable) > 0 || len(s.Damage) > 0 || s.RebuiltIndexes > 0 || s.Undelivered != nil || s.NoMaster || len(s.UDPOnly)+len(s.Refused) > 0
}

// Timing says how long after their deadlines messages were published.
type Timing struct {
	Messages      uint64 // with a deadline: immediate play and steps have none
	P50, P99, Max time.Duration
}
