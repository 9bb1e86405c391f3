package scene

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const (
	maxNames  = 1000
	maxBands  = 500
	maxValues = 100
	// A band ends if no status comes for longer than 5 s and 5 times as long as between the others.
	silence, silentTimes = 5 * time.Second, 5
)

// LevelsScene is diagnostics: a row for each name, the worst ones first.
type LevelsScene struct {
	Kind Kind        `json:"kind"`
	Rows []LevelsRow `json:"rows"`
	// More is how many names are left out.
	More int `json:"more,omitempty"`
}

// LevelsRow is the levels of one name over time, and its status at the playhead.
type LevelsRow struct {
	Name  string `json:"name"`
	Worst int    `json:"worst"`
	// Bands are a time, in seconds, to which another one belongs, and the level between them: 0 is ok, 1
	// warning, 2 error and 3 stale.
	Bands [][3]float64 `json:"bands"`

	At       float64     `json:"at"`    // of the status
	Level    int         `json:"level"` // -1 if nothing came before the playhead
	Message  string      `json:"message"`
	Hardware string      `json:"hardware,omitempty"`
	Values   [][2]string `json:"values,omitempty"`
}

// levelName is what came of one name.
type levelName struct {
	LevelsRow
	first, last rosbag.Time
	count       int
}

// levels gathers diagnostics.
type levels struct {
	options Options
	names   map[string]*levelName
	left    map[string]bool
}

// Add implements Gatherer.
func (l *levels) Add(m Message) error {
	list, err := m.Type.Lookup(m.Payload, "status")
	if err != nil {
		return err
	}
	for v, err := range list.Elements() {
		if err != nil {
			return err
		}
		name, err1 := v.Field("name")
		level, err2 := v.Field("level")
		if err1 != nil || err2 != nil {
			return fmt.Errorf("status without a name or a level: %w", ErrCorrupt)
		}
		n := l.name(cut(name), m.Time)
		if n == nil {
			continue
		}
		n.band(l.options, m.Time, int(level.Int()))
		if !l.options.after(m.Time) {
			if err := n.status(v, int(level.Int())); err != nil {
				return err
			}
			n.At = l.options.seconds(m.Time)
		}
	}
	return nil
}

// name returns what is gathered of a name, or nil if there are too many.
func (l *levels) name(name string, at rosbag.Time) *levelName {
	n := l.names[name]
	if n == nil && len(l.names) >= maxNames {
		if l.left == nil {
			l.left = make(map[string]bool)
		}
		if len(l.left) < maxNames {
			l.left[name] = true
		}
		return nil
	}
	if n == nil {
		n = &levelName{first: at, last: at}
		n.Name, n.Level = name, unknownLevel
		l.names[name] = n
	}
	return n
}

// unknownLevel is the level of a name of which nothing came before the playhead.
const unknownLevel = -1

// band adds a level at a time.
func (n *levelName) band(o Options, at rosbag.Time, level int) {
	gap := at.Sub(n.last)
	silent := n.count > 1 && gap > silence && gap > silentTimes*n.last.Sub(n.first)/time.Duration(n.count-1)
	n.count++
	n.last = at
	n.Worst = max(n.Worst, level)
	now := o.seconds(at)
	if k := len(n.Bands); k > 0 && !silent {
		n.Bands[k-1][1] = now
		if n.Bands[k-1][2] == float64(level) {
			return
		}
	}
	if len(n.Bands) >= maxBands {
		n.halve()
	}
	n.Bands = append(n.Bands, [3]float64{now, now, float64(level)})
}

// halve makes one band of each two, with the worse of their levels.
func (n *levelName) halve() {
	half := n.Bands[:0]
	for i := 0; i+1 < len(n.Bands); i += 2 {
		a, b := n.Bands[i], n.Bands[i+1]
		half = append(half, [3]float64{a[0], b[1], max(a[2], b[2])})
	}
	n.Bands = half
}

// status sets what the table shows.
func (n *levelName) status(v rosmsg.Value, level int) error {
	text, err1 := v.Field("message")
	hardware, err2 := v.Field("hardware_id")
	values, err3 := v.Field("values")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	n.Level, n.Message, n.Hardware, n.Values = level, cut(text), cut(hardware), nil
	for kv, err := range values.Elements() {
		if err != nil || len(n.Values) == maxValues {
			return err
		}
		key, err1 := kv.Field("key")
		value, err2 := kv.Field("value")
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		n.Values = append(n.Values, [2]string{cut(key), cut(value)})
	}
	return nil
}

// Scene implements Gatherer.
func (l *levels) Scene() any {
	s := &LevelsScene{Kind: Levels, Rows: []LevelsRow{}, More: len(l.left)}
	for n := range maps.Values(l.names) {
		row := n.LevelsRow
		row.Bands, row.Values = slices.Clone(row.Bands), slices.Clone(row.Values)
		s.Rows = append(s.Rows, row)
	}
	slices.SortFunc(s.Rows, func(a, b LevelsRow) int {
		return cmp.Or(cmp.Compare(b.Worst, a.Worst), cmp.Compare(a.Name, b.Name))
	})
	return s
}
