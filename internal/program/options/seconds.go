package options

import (
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// Seconds declares an option with a number of seconds, or a time such as 1m30s.
func Seconds(to *time.Duration, checks ...func(timearg.Seconds) error) config.Value {
	return config.To((*timearg.Seconds)(to), units.Text[timearg.Seconds], checks...)
}

// NotNegative is a check for Seconds.
func NotNegative(s timearg.Seconds) error {
	return units.AtLeast(timearg.Seconds(0), "must be 0 or positive: want seconds, such as 1.5")(s)
}
