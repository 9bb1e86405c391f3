package control

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/rosbag"
)

// DamageError says that a part of a bag could not be read. The rest was played.
type DamageError struct {
	Bag      string
	Messages uint64 // upper bound of the messages lost with it; 0 if unknown
	Err      error  // with the offset, see rosbag.CorruptError and rosbag.LimitError
}

// Error implements error.
func (e *DamageError) Error() string { return fmt.Sprintf("bag %s: %v", e.Bag, e.Err) }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// Lossless reports whether all messages were played in spite of the damage.
func (e *DamageError) Lossless() bool {
	var corrupt *rosbag.CorruptError
	return errors.As(e.Err, &corrupt) && corrupt.Recovered
}

// IsReadError reports whether reading failed, on a disk or in a store: the bag itself may be
// intact.
func (e *DamageError) IsReadError() bool {
	var read *rosbag.ReadError
	return errors.As(e.Err, &read)
}

// DamageCount sums up what is lost with damaged places of the bags, and with places that could
// not be read.
type DamageCount struct {
	Places   int
	Messages uint64 // upper bound of the messages lost with the places of a known number
	Unknown  int    // places that an unknown number of messages is lost with
}

// CountDamage sums up damage.
func CountDamage(all []*DamageError) (c DamageCount) {
	for _, e := range all {
		c.Places++
		c.Messages += e.Messages
		if e.Messages == 0 {
			c.Unknown++
		}
	}
	return c
}

// Lost returns the number of lost messages as text, for example "at most 5 and an unknown
// number". It is "none" without damage.
func (c DamageCount) Lost() string {
	switch known := fmt.Sprintf("at most %d", c.Messages); {
	case c.Places == 0:
		return "none"
	case c.Unknown == 0:
		return known
	case c.Messages == 0:
		return unknownNumber
	default:
		return known + " and " + unknownNumber
	}
}

const unknownNumber = "an unknown number"
