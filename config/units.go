// Package config holds the options of each program as data: one struct is the
// single source of its flags, environment variables, defaults and help. It knows
// nothing of the packages that the options are for; the programs translate.
package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Duration is a length of time as rosbag record writes it: a float with an
// optional unit s, m or h ("30", "1.5 s", "5m"). Zero means none was given.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler with the messages of stock
// rosbag record.
func (d *Duration) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	unit := time.Second
	if s != "" {
		switch last := s[len(s)-1]; last {
		case 's', 'm', 'h':
			unit = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}[last]
			s = strings.TrimSpace(s[:len(s)-1])
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil && startsWithFloat(s):
		return fmt.Errorf("%q: Duration unit must be s, m, or h", text)
	case err != nil:
		return fmt.Errorf("%q: Duration must start with a floating point number", text)
	case !(v > 0): // also NaN
		return fmt.Errorf("%q: Duration must be positive", text)
	case v*float64(unit) > math.MaxInt64:
		return fmt.Errorf("%q: Duration is longer than 292 years", text)
	}
	*d = Duration(v * float64(unit))
	return nil
}

// startsWithFloat reports whether a number stands at the start of s.
func startsWithFloat(s string) bool {
	for i := len(s) - 1; i > 0; i-- {
		if _, err := strconv.ParseFloat(strings.TrimSpace(s[:i]), 64); err == nil {
			return true
		}
	}
	return false
}

// Address is a host:port that may be left out: the bare option means the default
// address of a ROS master.
type Address string

// DefaultMasterAddress is where an embedded master listens unless told otherwise.
const DefaultMasterAddress = "127.0.0.1:11311"

// IsBool tells kong that the option may stand without a value.
func (*Address) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (a *Address) Decode(ctx *kong.DecodeContext) error {
	*a = DefaultMasterAddress
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	v, ok := ctx.Scan.Pop().Value.(string)
	if !ok || v == "" {
		return errors.New("want HOST:PORT")
	}
	if !strings.Contains(v, ":") {
		v += ":11311"
	}
	*a = Address(v)
	return nil
}
