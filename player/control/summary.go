package control

import "time"

// Summary is what a Run did.
type Summary struct {
	// in the order of their first connection
	Topics   []TopicSummary
	Messages uint64
	// payload, without the lengths of the frames
	Bytes uint64
	// bag time, all passes; at most 292 years
	Played time.Duration
	// wall time from the first to the last message, pauses excluded
	Elapsed time.Duration
	Timing  Timing
	// times that play had to wait for the disk or for decompression
	Starved uint64
	// messages that a subscriber did not get because its queue was full, or because of Unconverted
	Dropped uint64
	// messages that could not be made what subscribers want, with Options.ToWanted, for each version
	Unconverted uint64
	// messages that kept their stamps, in spite of Options.Stamps: they do not fit their definition
	Unstamped uint64
	// connections that could not be published
	Unplayable []Unplayable
	// the rest of the bags was played
	Damage []*DamageError
	// damaged chunk indexes that were rebuilt without loss
	RebuiltIndexes int
	// subscribers that take UDPROS only and got nothing: NODE of TOPIC
	UDPOnly []string
	// subscribers that no file descriptor was left for: NODE of TOPIC
	Refused []string
	// the error of Drain if subscribers did not receive everything
	Undelivered error
	// the master never answered, so that nothing was played
	NoMaster bool
	// the context ended before the last message
	Interrupted bool
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
	Bag string
	// as published
	Topic  string
	Type   string
	MD5Sum string
	Reason string
	// the option of goplay that makes it playable, and which option it has to precede; may be empty
	Remedy string
	// skipped during play
	Messages uint64
}

// Lossy reports whether something in the bags did not reach a subscriber, could not
// be read, or was damaged. An interruption by the caller is not a loss.
func (s *Summary) Lossy() bool {
	return s.Dropped > 0 || len(s.Unplayable) > 0 || len(s.Damage) > 0 || s.RebuiltIndexes > 0 ||
		s.Undelivered != nil || s.NoMaster || len(s.UDPOnly)+len(s.Refused) > 0
}

// Timing says how long after their deadlines messages were published.
type Timing struct {
	Messages      uint64 // with a deadline: immediate play and steps have none
	P50, P99, Max time.Duration
}
