package gaps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// WriteText writes the report for people, times from the start of the recording.
func (r *Report) WriteText(w io.Writer, path string) error {
	text := wording.Shown(path) + ": "
	switch n := len(r.Episodes); n {
	case 0:
		text += "no topic was silent or slow\n"
	default:
		text += wording.Plural(n, "finding") + "\n"
	}
	told, counted := r.told()
	for _, e := range told {
		text += fmt.Sprintf("  +%.2fs  %s %s\n", r.since(e.Start), wording.Escape(e.Topic), e.Says())
	}
	for _, c := range counted {
		text += fmt.Sprintf("  %s %v %s, at most for %s, together %s: --json has all\n",
			wording.Escape(c.topic), c.kind, wording.Plural(c.n, "more time"), finding.About(c.longest),
			finding.About(c.sum))
	}
	for _, u := range r.Untold {
		text += fmt.Sprintf("  %s %v %s soon after it had come back\n", wording.Escape(u.Topic), u.Kind,
			wording.Plural(u.Untold, "more time"))
	}
	for _, p := range r.Nothing {
		text += fmt.Sprintf("  +%.2fs  nothing was recorded for %s: a pause, the recorder was stopped, or all publishers were away\n", r.since(p.Start), finding.About(p.For))
	}
	_, err := io.WriteString(w, text)
	return err
}

// mostTold is how many episodes of one kind of a topic the text has. A topic of commands may stop a
// thousand times.
const mostTold = 5

// more are the episodes of one kind of a topic that the text only counts.
type more struct {
	key
	n            int
	longest, sum time.Duration
}

// told returns the episodes of the text, by their start, and those that it only counts: of one kind of a
// topic, the longest are told.
func (r *Report) told() (told []*Episode, counted []*more) {
	longest := make([]*Episode, len(r.Episodes))
	for i := range r.Episodes {
		longest[i] = &r.Episodes[i]
	}
	slices.SortStableFunc(longest, func(a, b *Episode) int { return -cmp.Compare(a.For, b.For) })
	n, rest := map[key]int{}, map[key]*more{}
	for _, e := range longest {
		k := key{e.Topic, e.Kind}
		if n[k]++; n[k] <= mostTold {
			told = append(told, e)
			continue
		}
		if rest[k] == nil {
			rest[k] = &more{key: k, longest: e.For}
			counted = append(counted, rest[k])
		}
		rest[k].n++
		rest[k].sum += e.For
	}
	slices.SortStableFunc(told, func(a, b *Episode) int { return a.Start.Compare(b.Start) })
	slices.SortFunc(counted,
		func(a, b *more) int {
			return cmp.Or(strings.Compare(a.topic, b.topic),
				cmp.Compare(a.kind, b.kind))
		})
	return told, counted
}

// Says returns what was wrong, and for how long.
func (e *Episode) Says() string {
	text := e.Brief()
	if e.Kind != finding.Silent { // which says how long
		text += ", for " + finding.About(e.For)
	}
	if e.Open {
		text += ", until the end"
	}
	return text
}

func (r *Report) since(t rosbag.Time) float64 { return t.Sub(r.Start).Seconds() }

// episodeJSON is an Episode. A figure that gorecord has, too, has the same key there.
type episodeJSON struct {
	Topic  string   `json:"topic"`
	Kind   string   `json:"kind"`
	Start  float64  `json:"start"` // seconds since 1970
	For    float64  `json:"for"`
	Open   bool     `json:"open"` // until the end of the recording
	Hz     *float64 `json:"hz,omitempty"`
	Want   *float64 `json:"want,omitempty"`
	Offset *float64 `json:"offset,omitempty"`
	Text   string   `json:"text"`
}

// untoldJSON counts the silences of a topic that are no findings, because they came too soon after it had
// come back.
type untoldJSON struct {
	Topic string `json:"topic"`
	Times int    `json:"untold"`
}

// pauseJSON is a Pause.
type pauseJSON struct {
	Start float64 `json:"start"`
	For   float64 `json:"for"`
}

// WriteJSON writes the report as a line.
func (r *Report) WriteJSON(w io.Writer, path string) error {
	line := struct {
		Path     string        `json:"path"`
		Findings []episodeJSON `json:"findings"`
		Untold   []untoldJSON  `json:"untold"`
		Nothing  []pauseJSON   `json:"nothing_recorded"`
	}{path, []episodeJSON{}, []untoldJSON{}, []pauseJSON{}}
	for i := range r.Episodes {
		e := &r.Episodes[i]
		j := episodeJSON{
			Topic: e.Topic, Kind: e.Kind.Key(), Start: unix(e.Start), For: rounded(e.For),
			Open: e.Open, Text: e.Says(),
		}
		switch {
		case e.Kind == finding.Slow:
			j.Hz, j.Want = &e.Hz, &e.Want
		case e.Offset != 0:
			offset := rounded(e.Offset)
			j.Offset = &offset
		}
		line.Findings = append(line.Findings, j)
	}
	for _, u := range r.Untold {
		line.Untold = append(line.Untold, untoldJSON{u.Topic, u.Untold})
	}
	for _, p := range r.Nothing {
		line.Nothing = append(line.Nothing, pauseJSON{unix(p.Start), rounded(p.For)})
	}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = w.Write(append(wording.EscapeJSON(string(b)), '\n'))
	return err
}

func unix(t rosbag.Time) float64 { return float64(nanoseconds(t)/int64(time.Millisecond)) / 1e3 }

func rounded(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
