package gaps

import (
	"encoding/json"
	"fmt"
	"io"
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
	for i := range r.Episodes {
		e := &r.Episodes[i]
		text += fmt.Sprintf("  +%.2fs  %s %s\n", r.since(e.Start), wording.Escape(e.Topic), e.line())
	}
	for _, p := range r.Nothing {
		text += fmt.Sprintf("  +%.2fs  nothing was recorded for %s: a pause, or the recorder was stopped\n", r.since(p.Start), finding.About(p.For))
	}
	_, err := io.WriteString(w, text)
	return err
}

// line says what was wrong, and for how long.
func (e *Episode) line() string {
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
		Nothing  []pauseJSON   `json:"nothing_recorded"`
	}{path, []episodeJSON{}, []pauseJSON{}}
	for i := range r.Episodes {
		e := &r.Episodes[i]
		j := episodeJSON{Topic: e.Topic, Kind: e.Kind.Key(), Start: unix(e.Start), For: rounded(e.For), Open: e.Open, Text: e.line()}
		switch {
		case e.Kind == finding.Slow:
			j.Hz, j.Want = &e.Hz, &e.Want
		case e.Offset != 0:
			offset := rounded(e.Offset)
			j.Offset = &offset
		}
		line.Findings = append(line.Findings, j)
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
