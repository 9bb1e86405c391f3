// Package units reads values as users write them: numbers, sizes, durations and addresses. Errors say what to
// write, and leave the value to the caller.
package units

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Errors of Switch and Int.
var (
	ErrSwitch = errors.New("want true or false")
	ErrWhole  = errors.New("want a whole number")
)

// Same reads a text as it is.
func Same(text string) (string, error) { return text, nil }

// Int reads an integer as rosbag does: 010 is ten, and 0x10 is an error.
func Int(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, ErrWhole
	}
	return n, nil
}

// Int64 reads an integer as Int does.
func Int64(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, ErrWhole
	}
	return n, nil
}

// Float reads a number.
func Float(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errors.New("want a number")
	}
	return v, nil
}

// Duration reads a duration as rosbag record does, with its messages: a positive float with an
// optional unit s, m or h ("30", "1.5 s", "5m").
func Duration(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
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
		return 0, errors.New("Duration unit must be s, m, or h")
	case err != nil:
		return 0, errors.New("Duration must start with a floating point number")
	case !(v > 0): // also NaN
		return 0, errors.New("Duration must be positive")
	case v*float64(unit) > math.MaxInt64:
		return 0, errors.New("Duration is longer than 292 years")
	case v*float64(unit) < 1: // zero would mean that there is no limit
		return 0, errors.New("Duration is shorter than a nanosecond")
	}
	return time.Duration(v * float64(unit)), nil
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

// Bytes reads a number of bytes as --min-space of rosbag record: an integer with an optional unit K,
// M or G of 1024, 1024² or 1024³ bytes. Stock reads wrong values as 1G; we refuse them.
func Bytes(text string) (int64, error) {
	n, err := scaled(strings.ToUpper(text), "KMG", 0)
	if errors.Is(err, ErrWhole) {
		err = errors.New("want a number of bytes, or one with K, M or G")
	}
	return n, err
}

// FileBytes reads the size of a file as --size of gobag: of MiB, as --size of rosbag record, or with one of
// the units K, M, G and T, which B or iB may follow.
func FileBytes(text string) (int64, error) {
	const units = "KMGT"
	short := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	n, err := scaled(short, units, 20)
	// 500B are not 500 MiB
	if bare := len(short) < len(text) && !strings.ContainsAny(short, units); err != nil || n == 0 || bare {
		return 0, errors.New("write for example 500M or 2G")
	}
	return n, nil
}

// scaled reads an integer that is not negative, with one of the units: each is 1024 times the one before.
// An integer without a unit is in units of 1<<shift bytes.
func scaled(text, units string, shift int) (int64, error) {
	if n := len(text) - 1; n >= 0 {
		if unit := strings.IndexByte(units, text[n]); unit >= 0 {
			text, shift = text[:n], 10*(unit+1)
		}
	}
	n, err := Int64(text)
	switch {
	case err != nil || n < 0:
		return 0, ErrWhole
	case n > math.MaxInt64>>shift:
		return 0, errors.New("the number of bytes is too large")
	}
	return n << shift, nil
}

// Size is a number of bytes as Bytes reads it, for options of gobag.
type Size int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := Bytes(string(text))
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	*s = Size(n)
	return nil
}

// ChunkLimit is the size of the largest compressed chunk that is unpacked.
type ChunkLimit int64

// maxChunkLimit is the largest limit that readers of bags accept, in whole MiB.
const maxChunkLimit = 2047 << 20

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *ChunkLimit) UnmarshalText(text []byte) error {
	n, err := Bytes(string(text))
	if err == nil && (n < 1 || n > maxChunkLimit) {
		err = errors.New("want a size up to " + BytesText(maxChunkLimit))
	}
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	*l = ChunkLimit(n)
	return nil
}

// BytesText returns a number of bytes with the largest unit that leaves an integer.
func BytesText(n int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "G"}, {20, "M"}, {10, "K"}} {
		if n != 0 && n%(1<<unit.shift) == 0 {
			return strconv.FormatInt(n>>unit.shift, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Switch reads the value of a switch.
func Switch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return false, ErrSwitch
}

// HostPort returns a host:port, with port where there is none. example is a correct one.
func HostPort(text, example, port string) (string, error) {
	if text != "" && !strings.Contains(text, ":") {
		text += ":" + port
	}
	host, number, err := net.SplitHostPort(text)
	if _, bad := strconv.ParseUint(number, 10, 16); err != nil || bad != nil ||
		strings.ContainsAny(host, "/@ ") {
		return "", fmt.Errorf("want HOST:PORT, such as %s, or true or false", example)
	}
	return text, nil
}

// AtLeast returns a check that refuses numbers below least, and NaN.
func AtLeast[N cmp.Ordered](least N, reason string) func(N) error {
	return func(n N) error { return unless(n >= least, reason) }
}

// AtMost returns a check that refuses numbers above most, and NaN.
func AtMost[N cmp.Ordered](most N, reason string) func(N) error {
	return func(n N) error { return unless(n <= most, reason) }
}

func unless(good bool, reason string) error {
	if good {
		return nil
	}
	return errors.New(reason)
}

// Text reads a value of a type that reads texts.
func Text[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](text string) (T, error) {
	var v T
	err := P(&v).UnmarshalText([]byte(text))
	return v, err
}
