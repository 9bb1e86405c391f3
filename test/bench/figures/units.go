package figures

import (
	"fmt"
	"time"
)

// Speed returns a rate, in bytes a second, in the unit that suits the size of the messages.
func Speed(rate float64, size int) string {
	if size < 1<<16 {
		return fmt.Sprintf("%.0fk messages/s", rate/float64(size)/1e3)
	}
	return fmt.Sprintf("%.0f MB/s", rate/1e6)
}

// Micro returns a time in seconds, rounded to microseconds.
func Micro(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
}
