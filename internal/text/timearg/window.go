package timearg

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

// Window holds the options that select a part of bags by time. They are the same in every program.
type Window struct {
	Start    Moment  `short:"s" default:"0" placeholder:"TIME" stock:"" help:"Begin at this time: seconds after the earliest message of the bags; or 1m30s; or -10s, before the latest; or @1748682000.5, in seconds since 1970; or a date such as 2026-11-21T10:00:00Z, in local time without the Z; or mark=TEXT, at a mark, of which TEXT may be the beginning."`
	Until    *Moment `aliases:"end" placeholder:"TIME" help:"End at this time, written as for --start. The earlier of --until and --duration applies."`
	Duration *Length `short:"u" placeholder:"TIME" stock:"" help:"Take only this much of the bags, from --start on: seconds, or a duration such as 1m30s."`
}

// Length is how much of bags is selected, in the form of Seconds. It is positive.
type Length time.Duration

// UnmarshalText implements encoding.TextUnmarshaler. -u is the end in many tools, but the length in
// rosbag play: a text that can only mean an end is an error that names --until.
func (l *Length) UnmarshalText(text []byte) error {
	var s Seconds
	err := s.UnmarshalText(text)
	number := strings.TrimSpace(string(text))
	switch {
	case err == nil && time.Duration(s) >= minAbsolute:
		number = "@" + number
	case err == nil && s <= 0:
		return fmt.Errorf("%q: Invalid duration, must be > 0.0", text)
	case err == nil:
		*l = Length(s)
		return nil
	case errors.Is(err, errTooShort), new(Moment).UnmarshalText(text) != nil:
		return err
	}
	return fmt.Errorf("%q: this is a point in time, and this option says how long, as in rosbag play: for the end write --until %s", text, number)
}

// Times returns the first and the last instant of the window, since 1970, and whether the window has a
// last one. Unless bags is nil, as for a pipe, the first is not before the earliest message.
func (w *Window) Times(bags *Bags) (start, end time.Duration, bounded bool, err error) {
	asked := time.Duration(math.MinInt64)
	if bags != nil {
		start = bags.First
	}
	if w.Start != (Moment{}) {
		if asked, err = w.Start.In(bags); err != nil {
			return 0, 0, false, fmt.Errorf("--start: %w", err)
		}
		start = max(start, asked)
	}
	if w.Duration != nil {
		if bags == nil && w.Start == (Moment{}) {
			return 0, 0, false, fmt.Errorf("--duration without --start: %w", errRelative)
		}
		end, bounded = start+time.Duration(*w.Duration), true
	}
	if w.Until == nil {
		return start, end, bounded, nil
	}
	until, err := w.Until.In(bags)
	switch {
	case err != nil:
		return 0, 0, false, fmt.Errorf("--until: %w", err)
	case until < asked:
		return 0, 0, false, fmt.Errorf("--until is %v before --start: nothing is in between", asked-until)
	case !bounded || until < end:
		end = until
	}
	return start, end, true, nil
}

// CheckNotEnd returns an error for an argument after -e that is a time and not a file: in many tools -e
// is the end of a selection. The error does not repeat the argument.
func CheckNotEnd(arg string) error {
	isTime := new(Moment).UnmarshalText([]byte(arg)) == nil
	if !isTime {
		return nil
	}
	if _, err := os.Stat(arg); err == nil {
		return nil
	}
	return fmt.Errorf("no such file; -e reads patterns as regular expressions, as in rosbag record: for the end write --until %s", arg)
}
