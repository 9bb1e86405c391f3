// Package config holds the options of each program as data: one struct is the
// single source of its flags, environment variables, defaults and help. It knows
// nothing of the packages that the options are for; the programs translate.
package config

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Duration is a duration as in rosbag record: a float with an optional unit s, m or h ("30",
// "1.5 s", "5m"). Zero means not set.
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

// startsWithFloat reports whether s begins with a number.
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
	v := fmt.Sprint(ctx.Scan.Pop().Value)
	if on, ok := parseSwitch(v); ok {
		if !on {
			*a = ""
		}
		return nil
	}
	v, err := hostAndPort(v, DefaultMasterAddress, "11311")
	*a = Address(v)
	return err
}

// hostAndPort returns a host:port, with a port where there is none. example is a correct one.
func hostAndPort(v, example, port string) (string, error) {
	if v != "" && !strings.Contains(v, ":") {
		v += ":" + port
	}
	host, number, err := net.SplitHostPort(v)
	if _, bad := strconv.ParseUint(number, 10, 16); err != nil || bad != nil || strings.ContainsAny(host, "/@ ") {
		return "", fmt.Errorf("want HOST:PORT, such as %s, or true or false", example)
	}
	return v, nil
}

// Size is a number of bytes as in --min-space of rosbag record: an integer with
// an optional unit K, M or G of 1024, 1024² or 1024³ bytes.
type Size int64

// UnmarshalText implements encoding.TextUnmarshaler. Stock reads invalid values as 1G; we refuse
// them.
func (s *Size) UnmarshalText(text []byte) error {
	digits, shift := string(text), 0
	if digits != "" {
		switch digits[len(digits)-1] {
		case 'k', 'K':
			shift = 10
		case 'm', 'M':
			shift = 20
		case 'g', 'G':
			shift = 30
		}
		if shift > 0 {
			digits = digits[:len(digits)-1]
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a number of bytes, or one with K, M or G", text)
	}
	if n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is too large", text)
	}
	*s = Size(n << shift)
	return nil
}

// ChunkLimit is the size of the largest compressed chunk that is unpacked.
type ChunkLimit Size

// maxChunkLimit is the most that readers of bags take, in whole MiB.
const maxChunkLimit = 2047 << 20

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *ChunkLimit) UnmarshalText(text []byte) error {
	if err := (*Size)(l).UnmarshalText(text); err != nil {
		return err
	}
	if *l < 1 || *l > maxChunkLimit {
		return fmt.Errorf("%q: want a size up to %s", text, ChunkLimit(maxChunkLimit))
	}
	return nil
}

// String returns the limit as Size does.
func (l ChunkLimit) String() string { return Size(l).String() }

// String returns the size with the largest unit that leaves an integer.
func (s Size) String() string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "G"}, {20, "M"}, {10, "K"}} {
		if s != 0 && s%(1<<unit.shift) == 0 {
			return strconv.FormatInt(int64(s)>>unit.shift, 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Split is a switch that may have a value: the size in MiB after which to split, an
// old form that rosbag record still takes.
type Split struct {
	On  bool
	MiB int64
}

// IsBool tells kong that the option may stand without a value.
func (*Split) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (s *Split) Decode(ctx *kong.DecodeContext) error {
	s.On = true
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	text := fmt.Sprint(ctx.Scan.Pop().Value)
	if n, err := strconv.ParseInt(text, 10, 40); err == nil { // before parseSwitch, which accepts 0 and 1
		s.MiB = n
		return nil
	}
	on, ok := parseSwitch(text)
	if !ok {
		return fmt.Errorf("%q: want true, false or a number of MiB", text)
	}
	s.On = on
	return nil
}

// parseSwitch parses the value of a switch that may have another value, too. It accepts the same
// words as kong does for plain switches.
func parseSwitch(s string) (on, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "1":
		return true, true
	case "false", "no", "0":
		return false, true
	}
	return false, false
}

// FileMode is the mode of files in octal digits. Zero means not set.
type FileMode uint32

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *FileMode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(text), "0o"), 8, 32)
	if err != nil || n&^0o666 != 0 || n&0o600 != 0o600 {
		return fmt.Errorf("%q: want three or four octal digits of a file that its owner may read and write, such as 0640 or 0644", text)
	}
	*m = FileMode(n)
	return nil
}
