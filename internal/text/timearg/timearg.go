// Package timearg reads times as users write them for bags: points in time, spans, and the window between
// two points. They mean the same in all programs.
//
// Decisions: ADR 0086.
package timearg

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
	AfterStart Base = iota // of the bags: 10, +10s, 1m30s
	BeforeEnd              // of the bags: -10s
	Since1970              // @1396293889.5, 2014-03-31T19:11:29.5Z; without a zone in local time
	AtMark                 // mark=door opened
)

// Moment is a point in time in bags, as given by the user. The zero value is the start of the bags.
type Moment struct {
	Base Base
	At   time.Duration
	Mark string // with AtMark: the text of the mark, or the beginning of the text
}

// maxStamp is the latest time that fits into a bag.
const maxStamp = math.MaxUint32 * time.Second

// minAbsolute is the smallest plain number that is refused because it is probably meant as a time since
// 1970, as in other tools: no bag is three years long.
const minAbsolute = 100_000_000 * time.Second

// momentLayouts are the accepted formats of dates, besides RFC 3339. Seconds may have a
// fraction.
var momentLayouts = [...]string{
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04",
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Moment) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if mark, ok := strings.CutPrefix(s, "mark="); ok {
		if mark == "" {
			return fmt.Errorf("%q: names no mark: write mark= and how its text begins", text)
		}
		*m = Moment{Base: AtMark, Mark: mark}
		return nil
	}
	base, number := AfterStart, s
	if s != "" {
		switch s[0] {
		case '+':
			number = s[1:]
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
	case err == nil && number == s && at >= minAbsolute:
		return fmt.Errorf("%q: a number counts seconds from the beginning of the bag: write @%s for a time since 1970", text, s)
	case err != nil && number == s:
		var t time.Time
		if t, err = parseDate(s); err == nil {
			base, at = Since1970, time.Duration(t.Unix())*time.Second+time.Duration(t.Nanosecond())
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%q: not a time: write seconds or 1m30s from the beginning of the bag, -10s before its end, @1396293889.5 since 1970, 2014-03-31T19:11:29Z, or mark=TEXT", text)
	case at < 0 || at > maxStamp:
		return fmt.Errorf("%q: not a time that fits into a bag: from 1970 to 2106", text)
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

// Bags has the times to which moments in bags are relative.
type Bags struct {
	First, Last time.Duration // times of the earliest and the latest message, since 1970
	// Mark returns the time, since 1970, of the mark whose text is text or begins with text.
	Mark func(text string) (time.Duration, error)
}

// errRelative is the error for a relative moment in bags whose times are not known, such as a pipe.
var errRelative = errors.New("where a pipe starts and ends, and which marks it has, is not known beforehand: give an absolute time, such as @1748682000 or a date")

// In returns the moment as time since 1970. bags is nil for a pipe, in which only moments since
// 1970 are known.
func (m Moment) In(bags *Bags) (time.Duration, error) {
	switch {
	case m.Base == Since1970:
		return m.At, nil
	case bags == nil:
		return 0, errRelative
	case m.Base == AtMark:
		return bags.Mark(m.Mark)
	case m.Base == BeforeEnd:
		return bags.Last - m.At, nil
	}
	return bags.First + m.At, nil
}

// Seconds is a duration as in rosbag play, a float without a unit, or one with units such as
// 1m30s.
type Seconds time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Seconds) UnmarshalText(text []byte) error {
	d, _, err := parseSeconds(strings.TrimSpace(string(text)))
	switch {
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%q: longer than 292 years", text)
	case err != nil:
		return fmt.Errorf("%q: want a number of seconds, or a time such as 1m30s", text)
	case d == 0 && vanished(string(text)): // for many options zero means never, or forever
		return fmt.Errorf("%q: %w", text, errTooShort)
	}
	*s = Seconds(d)
	return nil
}

// vanished reports whether a text that was read as zero stands for another number.
func vanished(text string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return strings.ContainsAny(mantissa, "123456789")
}

const maxSeconds = float64(math.MaxInt64/int64(time.Second) - 1)

var (
	errTooLong  = errors.New("longer than 292 years")
	errTooShort = errors.New("shorter than a nanosecond")
)

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
