// Package finding finds out what is wrong with the topics of a robot from when their messages arrive: a
// topic is silent, slow or too fast, or its stamps are off. It learns what is usual for each topic, and
// compares with what the user expects.
//
// A recorder gives the figures of all topics to a Watch, each Every. A tool gives those of a finished
// bag. The package is pure: it has no clock, no lock and no I/O. The memory of a topic is constant, and a
// look at a topic about which there is nothing to say allocates nothing.
package finding

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Kind is what is wrong with a topic.
type Kind int

// The kinds, those that users look at first are first.
const (
	Silent Kind = iota // no message comes
	Slow               // at about half of the usual rate or less, or below the expected rate
	Fast               // above the expected rate
	Stamps             // header.stamp is far from the time of arrival, or does not go on
	Kinds              // the number of kinds
)

// String returns the kind as it stands in marks, in logs and in JSON.
func (k Kind) String() string {
	switch k {
	case Silent:
		return "silent"
	case Slow:
		return "slow"
	case Fast:
		return "fast"
	case Stamps:
		return "stamps off"
	case Kinds:
	}
	return "unknown"
}

// Key returns the kind as one word, for labels and keys.
func (k Kind) Key() string {
	if k == Stamps {
		return "stamps"
	}
	return k.String()
}

// Cause says more about what is wrong.
type Cause int

// The causes.
const (
	NoCause  Cause = iota
	Gone           // silent: no publisher has a link
	Mute           // silent: a publisher has a link and sends nothing
	Broken         // silent: the link broke, and there is no other one
	Absent         // silent: there was never a publisher
	Behind         // stamps: older than the arrival
	Ahead          // stamps: in the future
	Still          // stamps: the same in all messages
	Backward       // stamps: they run backward
)

// String returns the cause as people read it.
func (c Cause) String() string {
	switch c {
	case Gone:
		return "publisher gone"
	case Mute:
		return "publisher there but mute"
	case Broken:
		return "link broken"
	case Absent:
		return "no publisher"
	case Behind:
		return "behind"
	case Ahead:
		return "ahead"
	case Still:
		return "standing still"
	case Backward:
		return "running backward"
	case NoCause:
	}
	return ""
}

// Finding is something that is wrong with a topic.
type Finding struct {
	Topic    string // or an expected glob that no topic matches
	Kind     Kind
	Cause    Cause
	For      time.Duration // how long already; of a silent topic since its last message
	Hz       float64       // slow and fast: the present rate
	Want     float64       // slow: the usual rate, or the least expected one; fast: the highest expected one
	Offset   time.Duration // behind and ahead: arrival minus stamp
	Expected bool          // the user has written what to expect; otherwise it was learned
}

// Text says what is wrong, after the name of the topic.
func (f *Finding) Text() string {
	switch f.Kind {
	case Silent:
		if f.Cause == NoCause {
			return "for " + About(f.For)
		}
		return fmt.Sprintf("for %s (%v)", About(f.For), f.Cause)
	case Slow, Fast:
		than := "usual"
		if f.Expected {
			than = "expected"
		}
		return fmt.Sprintf("%s Hz, %s %s", Hz(f.Hz), than, Hz(f.Want))
	case Stamps:
		if f.Offset != 0 {
			return fmt.Sprintf("%s %v", About(f.Offset.Abs()), f.Cause)
		}
		return f.Cause.String()
	case Kinds:
	}
	return ""
}

// Brief says what is wrong, beside the name of the topic.
func (f *Finding) Brief() string {
	switch f.Kind {
	case Silent:
		return "silent " + f.Text()
	case Slow:
		return "slow: " + f.Text()
	case Fast:
		return "too fast: " + f.Text()
	case Stamps:
		return "stamps " + f.Text()
	case Kinds:
	}
	return ""
}

// Line is the finding as one line: the kind, the topic and what is wrong.
func (f *Finding) Line() string {
	return fmt.Sprintf("%v %s: %s", f.Kind, f.Topic, strings.TrimPrefix(f.Text(), "for "))
}

// Compare sorts findings: the kinds in their order, expected ones first, those that last longest first.
func Compare(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), -cmp.Compare(order(a.Expected), order(b.Expected)),
		-cmp.Compare(a.For, b.For), strings.Compare(a.Topic, b.Topic))
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

// Headlines returns one line for each kind of which there are findings, such as "2 topics are silent:
// /imu/data for 41 s (publisher gone), /gps for 3 s (link broken)". At most most topics of a kind are
// named. Findings are sorted.
func Headlines(findings []Finding, most int) (lines []string) {
	for len(findings) > 0 {
		kind := findings[0].Kind
		n := slices.IndexFunc(findings, func(f Finding) bool { return f.Kind != kind })
		if n < 0 {
			n = len(findings)
		}
		lines = append(lines, headline(findings[:n], most))
		findings = findings[n:]
	}
	return lines
}

// headline returns the line of findings of one kind.
func headline(all []Finding, most int) string {
	what := all[0].Kind.String()
	if all[0].Kind == Fast {
		what = "too fast"
	}
	subject := wording.Plural(len(all), "topic") + " are " + what
	switch {
	case all[0].Kind == Stamps:
		subject = "the stamps of " + wording.Plural(len(all), "topic") + " are off"
	case len(all) == 1:
		subject = "1 topic is " + what
	}
	names := make([]string, 0, most+1)
	for i := range all[:min(len(all), most)] {
		names = append(names, wording.Escape(all[i].Topic)+" "+all[i].Text())
	}
	if more := len(all) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return subject + ": " + strings.Join(names, ", ")
}

// Hz writes a rate with as many digits as help to compare rates.
func Hz(hz float64) string {
	digits := 0
	switch {
	case hz == 0:
	case hz < 1:
		digits = 2
	case hz < 100:
		digits = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(hz, 'f', digits, 64), ".0")
}

// About writes a duration with one or two units: 45 ms, 2.4 s, 41 s, 3 min 5 s, 2 h 10 min, 5 d.
func About(d time.Duration) string {
	whole := func(of time.Duration) int64 { return int64(math.Floor(float64(d) / float64(of))) }
	two := func(big, small time.Duration, b, s string) string {
		if rest := (d % big) / small; rest > 0 {
			return fmt.Sprintf("%d %s %d %s", whole(big), b, rest, s)
		}
		return fmt.Sprintf("%d %s", whole(big), b)
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", whole(time.Second))
	case d < time.Hour:
		return two(time.Minute, time.Second, "min", "s")
	case d < day:
		return two(time.Hour, time.Minute, "h", "min")
	case d < 365*day:
		return fmt.Sprintf("%d d", whole(day))
	}
	return fmt.Sprintf("%d years", whole(365*day))
}
