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

// Base is the reference of a Moment.
type Base int

// References of a Moment.
const (
	Plain      Base = iota // a number of seconds, whose reference depends on the program
	AfterStart             // of the bags: +10s, 1m30s
	BeforeEnd              // of the bags: -10s
	Since1970              // @1396293889.5, 2014-03-31T19:11:29.5Z; without a zone in local time
	AtMark                 // mark=door opened
)

// Moment is a point in time in bags, as given by the user.
type Moment struct {
	Base Base
	At   time.Duration
	Mark string // with AtMark: what the text of the mark is, or begins with
}

// maxStamp is the latest time that fits into a bag.
const maxStamp = math.MaxUint32 * time.Second

// momentLayouts are the accepted formats of dates, besides RFC 3339. Seconds may have a
// fraction.
var momentLayouts = [...]string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} //nolint:gochecknoglobals // a constant, but for the language

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Moment) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if mark, ok := strings.CutPrefix(s, "mark="); ok {
		if mark == "" {
			return fmt.Errorf("%q names no mark: write mark= and how its text begins", text)
		}
		*m = Moment{Base: AtMark, Mark: mark}
		return nil
	}
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
	at, unit, err := parseSeconds(number)
	switch {
	case err == nil && at < 0, err == nil && base == Since1970 && unit:
		err = errNotATime
	case err == nil && base == Plain && unit:
		base = AfterStart
	case err != nil && base == Plain:
		var t time.Time
		if t, err = parseDate(s); err == nil {
			base, at = Since1970, time.Duration(t.Unix())*time.Second+time.Duration(t.Nanosecond())
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a time: write seconds, 1m30s, -10s before the end, @1396293889.5 since 1970, 2014-03-31T19:11:29Z, or mark=TEXT", text)
	case at < 0 || at > maxStamp:
		return fmt.Errorf("%q is not a time that fits into a bag: from 1970 to 2106", text)
	}
	*m = Moment{Base: base, At: at}
	return nil
}

var errNotATime = errors.New("not a time")

func parseDate(s string) (t time.Time, err error) {
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

// checkYear prevents overflows in later conversions.
func checkYear(t time.Time) error {
	if y := t.Year(); y < 1 || y > 9999 {
		return errNotATime
	}
	return nil
}

// ResolveMark makes a moment at a mark one since 1970. find returns where the mark is. It has
// no effect on others.
func (m *Moment) ResolveMark(find func(text string) (time.Duration, error)) error {
	if m.Base != AtMark {
		return nil
	}
	at, err := find(m.Mark)
	if err == nil {
		*m = Moment{Base: Since1970, At: at}
	}
	return err
}

// In returns the moment as time since 1970, given the start and the end of the bags. plain is the
// reference of Plain numbers.
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
	case Plain, Since1970, AtMark:
	}
	return m.At
}

// Relative reports whether the moment depends on the start or the end of the bags.
func (m Moment) Relative(plain Base) bool {
	if m.Base == Plain {
		return plain != Since1970
	}
	return m.Base != Since1970
}

// Seconds is a duration as in rosbag play, a float without a unit, or one with units such as
// 1m30s.
type Seconds time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Seconds) UnmarshalText(text []byte) error {
	d, _, err := parseSeconds(strings.TrimSpace(string(text)))
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

// parseSeconds parses a number of seconds, exactly, or a duration with units. unit reports which
// it was.
func parseSeconds(s string) (d time.Duration, unit bool, err error) {
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
