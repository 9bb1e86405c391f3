package recovery

// maxReports bounds each list of a Report.
const maxReports = 1000

// Report reports what Recover kept, what it skipped, and where.
type Report struct {
	Version     string // of the input, as in its first line
	Messages    uint64 // kept
	Connections int    // with messages that were kept
	Chunks      int    // of the input, read in whole or in part
	Copied      int    // of these, copied as they were stored
	Repeated    int    // chunks skipped because an identical one came before, as in a tail written twice
	// Dropped counts the messages that are known to be lost: those that an index counts
	// but no chunk contains, and those of unknown connections.
	Dropped uint64
	// Skipped lists the ranges of the input that were not kept, Repairs the damage that
	// lost no message. Their errors have the types that a Reader returns. Each list holds
	// at most 1000 entries; More counts the others.
	Skipped []SkippedRange
	Repairs []error
	More    int

	SkippedBytes int64 // of all skipped ranges, also those that are not listed
	losses       int   // skipped ranges that may have held messages
}

// SkippedRange is a range of a bag that was not kept.
type SkippedRange struct {
	Offset, Bytes int64  // 0 bytes: the record at Offset is incomplete
	Dropped       uint64 // messages known to be lost with the range; 0 if their number is unknown
	Trailing      bool   // in or after the index section of the last bag: no message is lost
	Err           error
}

// Lossy reports whether messages were lost, or may have been.
func (r *Report) Lossy() bool { return r.Dropped > 0 || r.losses > 0 }

// skip adds a skipped range, with the number of messages known to be lost with it.
func (r *Report) skip(offset, n int64, dropped uint64, err error) {
	r.addSkipped(SkippedRange{Offset: offset, Bytes: n, Dropped: dropped, Err: err})
}

// addSkipped adds x to the skipped ranges. It returns its position in the list, counted
// from 1, or 0 if the list is full.
func (r *Report) addSkipped(x SkippedRange) (position int) {
	r.SkippedBytes += x.Bytes
	r.Dropped += x.Dropped
	if !x.Trailing {
		r.losses++
	}
	if len(r.Skipped) == maxReports {
		r.More++
		return 0
	}
	r.Skipped = append(r.Skipped, x)
	return len(r.Skipped)
}

// setTrailing marks the skipped range at a position as one with which no message is lost.
func (r *Report) setTrailing(position int) {
	if x := &r.Skipped[position-1]; !x.Trailing {
		x.Trailing = true
		r.losses--
	}
}

// repair adds damage that lost no message.
func (r *Report) repair(err error) {
	if len(r.Repairs) == maxReports {
		r.More++
		return
	}
	r.Repairs = append(r.Repairs, err)
}
