package options

import (
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/moment"
	"github.com/gorosbag/gorosbag/internal/text/units"
)

// Seconds declares an option with a number of seconds, or a time such as 1m30s.
func Seconds(to *time.Duration, checks ...func(moment.Seconds) error) config.Value {
	return config.To((*moment.Seconds)(to), units.Text[moment.Seconds], checks...)
}

// NotNegative is a check for Seconds.
func NotNegative(s moment.Seconds) error {
	return units.AtLeast(moment.Seconds(0), "must be 0 or positive: want seconds, such as 1.5")(s)
}
