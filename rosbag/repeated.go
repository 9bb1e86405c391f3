package rosbag

// Repeated says how a bag begins that is a cut of a longer recording: with Count messages of
// latching connections, all with the time of the cut, that repeat what was latched then. The
// originals are, as a rule, in a bag before this one.
//
// It stands in the bag header, in the fields repeated_count and repeated_time. The repeated
// messages are, of those of latching connections with exactly this time, the first ones in the
// file: others with the same time, or with an earlier one, may follow them. A Count beyond what
// is there means all of these.
// See ADR 0061.
type Repeated struct {
	Count uint32
	Time  Time
}
