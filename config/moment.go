package config

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Base is what a Moment counts from.
type Base int

// What a Moment counts from.
const (
	Plain      Base = iota // a number of seconds: each program says from where
	AfterStart             // of the bags: +10s, 1m30s
	BeforeEnd              // of the bags: -10s
	Since1970              // @1396293889.5, 2014-03-31T19:11:29.5Z; without a zone in local time
)

// Moment is a point in time in bags, as people write it.
type Moment struct {
	Base Base
	At   time.Duration
}

// maxStamp is the last second that a bag can tell.
const maxStamp = math.MaxUint32 * time.Second

// momentLayouts are the dates that are understood, besides RFC 3339. Seconds may have
// a fraction.
var momentLayouts = [...]string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} //nolint:gochecknoglobals // a constant, but for the language

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Moment) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	base, number := Plain, s
	if s != "" {
		switch s[0] {
		case '+':
			base, number = AfterStart, s[1:]
		case '-':
			base, number = BeforeEnd, s[1:]
		case '@':
			base, number = Since1970, s[1:]
		}
	}
	at, unit, err := length(number)
	switch {
	case err == nil && at < 0, err == nil && base == Since1970 && unit:
		err = errNotATime
	case err == nil && base == Plain && unit:
		base = AfterStart
	case err != nil && base == Plain:
		var t time.Time
		if t, err = date(s); err == nil {
			base, at = Since1970, time.Duration(t.Unix())*time.Second+time.Duration(t.Nanosecond())
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a time: write seconds, 1m30s, -10s before the end, @1396293889.5 since 1970, or 2014-03-31T19:11:29Z", text)
	case at < 0 || at > maxStamp:
		return fmt.Errorf("%q is not a time that a bag can tell: from 1970 to 2106", text)
	}
	*m = Moment{base, at}
	return nil
}

var errNotATime = errors.New("not a time")

func date(s string) (t time.Time, err error) {
	if t, err = time.Parse(time.RFC3339Nano, s); err == nil {
		return t, checkYear(t)
	}
	for _, layout := range momentLayouts {
		if t, err = time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, checkYear(t)
		}
	}
	return t, err
}

// checkYear keeps what follows from overflowing.
func checkYear(t time.Time) error {
	if y := t.Year(); y < 1 || y > 9999 {
		return errNotATime
	}
	return nil
}

// In returns the moment since 1970, given where the bags start and end. plain is what a
// number without a sign counts from.
func (m Moment) In(start, end time.Duration, plain Base) time.Duration {
	base := m.Base
	if base == Plain {
		base = plain
	}
	switch base {
	case AfterStart:
		return start + m.At
	case BeforeEnd:
		return end - m.At
	case Plain, Since1970:
	}
	return m.At
}

// Relative reports whether start or end of the bags matter for the moment.
func (m Moment) Relative(plain Base) bool {
	if m.Base == Plain {
		return plain != Since1970
	}
	return m.Base != Since1970
}

// Seconds is a length of time as rosbag play writes it, a float without a unit, or one
// with units as in 1m30s.
type Seconds time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Seconds) UnmarshalText(text []byte) error {
	d, _, err := length(strings.TrimSpace(string(text)))
	switch {
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%q is longer than 292 years", text)
	case err != nil:
		return fmt.Errorf("%q is not a number of seconds, nor a time such as 1m30s", text)
	}
	*s = Seconds(d)
	return nil
}

const maxSeconds = float64(math.MaxInt64/int64(time.Second) - 1)

var errTooLong = errors.New("longer than 292 years")

// length parses a number of seconds, without losing digits of a decimal, or a length
// with units, and tells which it was.
func length(s string) (d time.Duration, unit bool, err error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(s, "xX_") {
		d, err := time.ParseDuration(s)
		return d, true, err
	}
	switch {
	case math.IsNaN(v), math.IsInf(v, 0) && strings.ContainsAny(s, "nN"):
		return 0, false, errNotATime
	case !(math.Abs(v) < maxSeconds):
		return 0, false, errTooLong
	case strings.ContainsAny(s, "eE"): // an exponent may stand for a great many digits
		return time.Duration(math.Round(v * float64(time.Second))), false, nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, false, errNotATime
	}
	r.Mul(r, big.NewRat(int64(time.Second), 1))
	return time.Duration(new(big.Int).Quo(r.Num(), r.Denom()).Int64()), false, nil
}
