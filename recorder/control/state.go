package control

// State is what a recording does with the messages that arrive. Messages that it does not record
// are no losses; they are counted separately.
type State int

// The zero value records.
const (
	StateRecording State = iota
	StatePaused          // the bag stays open and gets nothing, until Resume
	StateStopped         // there is no bag, until Start
)

// String returns the state as people read it.
func (s State) String() string {
	switch s {
	case StateRecording:
		return "recording"
	case StatePaused:
		return "paused"
	case StateStopped:
		return "stopped"
	}
	return "unknown"
}

// SnapshotMode says whether the latest messages are kept ready in memory, for a snapshot to begin
// with.
type SnapshotMode int

// The zero value records and keeps nothing ready.
const (
	SnapshotOff    SnapshotMode = iota
	SnapshotOnly                // no bag is written but those of snapshots, as with stock's --snapshot
	SnapshotBeside              // beside an ordinary recording
)

// Waiting says what a topic without any publisher so far was waiting for when the recording
// ended.
type Waiting int

// The zero value says that nothing was in the way: there was a link, or no publisher.
const (
	WaitingNone      Waiting = iota
	WaitingMaster            // to be registered with the master, which had others before it or did not answer
	WaitingPublisher         // for a publisher that the master lists and that was not reached
)

// DropCause says why messages that were received are lost: they are not in the bag. Messages that limits
// leave out (TopicStats.LeftOut), or that came while paused or stopped (Passed), are no loss and have no
// cause.
type DropCause int

// The causes.
const (
	// no room in the buffer.
	DropBufferFull DropCause = iota
	// one message larger than the buffer, or than half of the buffer where links wait.
	DropOversize
	// the file could not be written.
	DropDisk
	// still in memory at the end, which the user cut short.
	DropAborted
	// the publisher stalled in the middle of the message.
	DropLink
	// the file was deleted while it was recorded.
	DropDeleted
	// lost on the way over UDPROS.
	DropUDP
	// the number of causes.
	DropCauses
)

// String returns the cause as it stands in logs and summaries.
func (c DropCause) String() string {
	if c < 0 || c >= DropCauses {
		return "unknown"
	}
	return [DropCauses]string{
		DropBufferFull: "queue_full", DropOversize: "oversize", DropDisk: "disk", DropAborted: "hurried_end",
		DropLink: "link", DropDeleted: "deleted", DropUDP: "udp",
	}[c]
}

// DropCauseNames returns the causes that TopicStats.Causes may have.
func DropCauseNames() []string {
	causes := make([]string, DropCauses)
	for c := range DropCauses {
		causes[c] = c.String()
	}
	return causes
}
