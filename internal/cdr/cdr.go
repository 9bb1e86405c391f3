// Package cdr converts payloads between the serialization of ROS 1 and CDR, that of ROS 2.
package cdr

import "errors"

// ErrCorrupt is matched by errors about a payload that does not fit its type.
var ErrCorrupt = errors.New("payload does not fit its type")

// Counts says what happened to values that the other side cannot represent as they were.
type Counts struct {
	// WrappedTimes counts times after 2038-01-19, which became negative in ROS 2.
	WrappedTimes int64
	// ClampedTimes counts times before 1970, which became 0 in ROS 1.
	ClampedTimes int64
	// NormalizedTimes counts times and durations whose nanoseconds were not in [0, 1e9).
	NormalizedTimes int64
	// DroppedValues counts values that were not empty and have no field in ROS 1.
	DroppedValues int64
}
