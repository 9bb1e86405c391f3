// Package request reads what pages ask of recordings: topics, times, and places of messages.
//
// It only reads parameters. Its errors have the kinds of package command, and say what is wanted.
package request

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Topic returns the topic that a request names.
func Topic(r *http.Request, s *recorded.Set) (*recorded.Topic, error) {
	name := r.FormValue("topic")
	row, ok := s.Row(name)
	if !ok {
		return nil, command.Refused(command.NotFound, fmt.Sprintf("topic %.200q is not recorded", name))
	}
	return &s.Topics[row], nil
}

// Seconds returns a time as seconds from the start of a set.
func Seconds(s *recorded.Set, t rosbag.Time) float64 {
	return float64(t.Sub(s.Start)) / float64(time.Second)
}

// Moment reads a time that a request has as seconds from the start of a set.
func Moment(r *http.Request, s *recorded.Set, name string) (rosbag.Time, error) {
	x, err := strconv.ParseFloat(r.FormValue(name), 64)
	if err != nil || math.IsNaN(x) || math.Abs(x) > 9e9 {
		return rosbag.Time{},
			command.Refused(command.Invalid,
				fmt.Sprintf("%s=%.20q: want seconds from the start", name, r.FormValue(name)))
	}
	return s.Start.Add(time.Duration(math.Round(x * 1e9))), nil
}

// Window reads the stretch of time of a request, from and to.
func Window(r *http.Request, s *recorded.Set) (from, to rosbag.Time, err error) {
	if from, err = Moment(r, s, "from"); err != nil {
		return from, to, err
	}
	if to, err = Moment(r, s, "to"); err == nil && to.Before(from) {
		err = command.Refused(command.Invalid, "to is before from")
	}
	return from, to, err
}

// Number reads a number of a request that is at most most.
func Number(r *http.Request, name string, most int) (int, error) {
	n, err := strconv.Atoi(r.FormValue(name))
	if err != nil || n < 0 || n > most {
		return 0, command.Refused(command.Invalid,
			fmt.Sprintf("%s=%.20q: want a number up to %d", name, r.FormValue(name), most))
	}
	return n, nil
}

// Rows reads numbers of topics, as 0-40,55.
func Rows(text string, topics int) (rows []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err := errors.Join(err1, err2); err != nil || a < 0 || b < a || b >= topics ||
			len(rows)+b-a > topics {
			return nil, command.Refused(command.Invalid,
				fmt.Sprintf("rows=%.40q: want numbers of topics below %d, as 0-40,55", text, topics))
		}
		for row := a; row <= b; row++ {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// ID is the text by which a page names a place: the time, and the number among messages of the same time.
func ID(p recorded.Place) string { return fmt.Sprintf("%d.%09d:%d", p.Time.Sec, p.Time.Nsec, p.Number) }

// ParseID reads what ID has written.
func ParseID(text string) (p recorded.Place, err error) {
	stamp, count, _ := strings.Cut(text, ":")
	sec, nsec, _ := strings.Cut(stamp, ".")
	s, err1 := strconv.ParseUint(sec, 10, 32)
	n, err2 := strconv.ParseUint(nsec, 10, 32)
	c, err3 := strconv.ParseUint(count, 10, 31)
	if err := errors.Join(err1, err2, err3); err != nil {
		return p, command.Refused(command.Invalid,
			fmt.Sprintf("id=%.40q: want SECONDS.NANOSECONDS:NUMBER", text))
	}
	return recorded.Place{Time: rosbag.Time{Sec: uint32(s), Nsec: uint32(n)}, Number: int(c)}, nil
}

// Find returns the message of a topic that a request asks for: at a time, with an id, or the one before
// or after that.
func Find(r *http.Request, s *recorded.Set, topic string) (recorded.Found, error) {
	ctx := r.Context()
	if text := r.FormValue("id"); text != "" {
		p, err := ParseID(text)
		if err != nil {
			return recorded.Found{}, err
		}
		switch r.FormValue("go") {
		case "next":
			return s.Next(ctx, topic, p)
		case "previous":
			return s.Previous(ctx, topic, p)
		}
		return s.Exactly(ctx, topic, p)
	}
	t, err := Moment(r, s, "at")
	if err != nil {
		return recorded.Found{}, err
	}
	return s.At(ctx, topic, t)
}
