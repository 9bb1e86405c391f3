package bagname

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Sequence names one bag after the other. One goroutine owns a Sequence.
type Sequence struct {
	Output
	Numbered bool // the name of the first bag has a number, too

	plain  bool // names have no number, unless a name is taken
	number int  // the number of the next bag
}

// Next returns the name of the next bag.
func (s *Sequence) Next(now time.Time) string {
	if (s.plain || s.number == 0 && !s.Numbered) && s.Template == "" {
		return s.Target(now, -1)
	}
	return s.Target(now, s.number)
}

// Chosen reports whether the user has chosen the next name in full. It is an error then if the name is taken.
func (s *Sequence) Chosen() bool {
	return !s.plain && s.Template == "" && s.number == 0 && s.Name != ""
}

// Another returns a name in place of the next name, which is taken; n counts the tries from 1. Of a first
// bag named by date, the date is n seconds later: a supervisor may restart a recorder within a second.
// Other names get the next number. ok is false for a name that is Chosen.
func (s *Sequence) Another(now time.Time, n int) (target string, ok bool) {
	switch {
	case s.plain || s.Template != "":
		return strings.TrimSuffix(s.Next(now), ".bag") + "_" + strconv.Itoa(n) + ".bag", true
	case s.number > 0:
		s.number++
		return s.Next(now), true
	case s.Name == "":
		return s.Next(now.Add(time.Duration(n) * time.Second)), true
	}
	return "", false
}

// Used notes that a bag has the next name, or another one in its place.
func (s *Sequence) Used() { s.number++ }

// ForSnapshots returns the names of the bags of snapshots: the name that the user wants, followed by the word
// snapshot if beside says that the recording has bags of its own.
func (s *Sequence) ForSnapshots(beside bool) Sequence {
	o := Sequence{Output: s.Output, plain: true}
	if !beside {
		return o
	}
	const word = "snapshot"
	if o.Template != "" {
		o.Template = strings.TrimSuffix(o.Template, ".bag") + "_" + word
		return o
	}
	name := cmp.Or(strings.TrimSuffix(o.Name, ".bag"), strings.TrimSuffix(o.Prefix, ".bag"))
	if name != "" && !strings.HasSuffix(name, "/") {
		name += "_"
	}
	o.Name, o.Prefix = "", name+word
	return o
}
