package info

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// gapPeriods is how many median periods a topic has to be silent for a gap.
const gapPeriods = 5

// Detail is what New finds out about a topic with Options.Details.
type Detail struct {
	Bytes      uint64        // of all payloads
	LongestGap time.Duration // the longest time between two messages
	GapAt      rosbag.Time   // when LongestGap began
	Gaps       int           // the number of gaps of more than gapPeriods median periods
}

// addGaps finds the gaps between sorted stamps.
func (t *Topic) addGaps(stamps []rosbag.Time) {
	var limit time.Duration
	if t.Frequency > 0 {
		limit = time.Duration(gapPeriods / t.Frequency * float64(time.Second))
	}
	for n := 1; n < len(stamps); n++ {
		gap := stamps[n].Sub(stamps[n-1])
		if gap > t.LongestGap {
			t.LongestGap, t.GapAt = gap, stamps[n-1]
		}
		if limit > 0 && gap > limit {
			t.Gaps++
		}
	}
}

// readMessages appends the times of messages to stamps, by topic, and counts the bytes of each connection.
func (i *Info) readMessages(r rosbag.Source, o *Options, stamps map[string][]rosbag.Time) error {
	at := make(map[*rosbag.Connection]*Connection, len(i.Connections))
	for n := range i.Connections {
		at[i.Connections[n].Connection] = &i.Connections[n]
	}
	for m, err := range rosbag.Messages(r, rosbag.Query{Workers: o.Workers, Reuse: true}) {
		if err != nil {
			if err := o.damaged(err); err != nil {
				return err
			}
			continue
		}
		at[m.Conn].Bytes += uint64(len(m.Data()))
		stamps[m.Conn.Topic] = append(stamps[m.Conn.Topic], carried(m.Time))
	}
	return nil
}

// WriteDetails writes what follows WriteText with details: publishers, bytes and gaps, which rosbag info does
// not show.
func (i *Info) WriteDetails(w io.Writer) error {
	var text strings.Builder
	var rows [][]string
	for _, c := range i.Connections {
		latching := ""
		if c.Header.Latching() {
			latching = "latching"
		}
		rows = append(rows, []string{
			wording.Escape(c.Topic), cmp.Or(wording.Escape(c.Header.CallerID()), "(unknown)"),
			wording.Plural(c.Messages, "msg"), byteSize(float64(c.Bytes)), latching,
		})
	}
	table(&text, "publishers:", rows)
	rows = nil
	atLeast := ""
	if i.Sampled > 0 {
		atLeast = "at least "
	}
	for _, t := range i.Topics {
		row := []string{wording.Escape(t.Name), byteSize(float64(t.Bytes)), "", ""}
		if t.LongestGap > 0 {
			row[2] = fmt.Sprintf("longest gap %s%.3fs at +%.2fs", atLeast, t.LongestGap.Seconds(),
				t.GapAt.Sub(i.Start).Seconds())
		}
		if t.Gaps > 0 {
			row[3] = fmt.Sprintf("%s > %.3fs", wording.Plural(t.Gaps, "gap"), gapPeriods/t.Frequency)
		}
		rows = append(rows, row)
	}
	table(&text, "data:", rows)
	_, err := io.WriteString(w, text.String())
	return err
}

// table writes rows in columns after a title, without blanks at the end of lines.
func table(w *strings.Builder, title string, rows [][]string) {
	var width []int
	for _, r := range rows {
		for n, cell := range r {
			if n == len(width) {
				width = append(width, 0)
			}
			width[n] = max(width[n], utf8.RuneCountInString(cell))
		}
	}
	for n, r := range rows {
		line := title
		if n > 0 {
			line = ""
		}
		line = fmt.Sprintf("%-13s", line)
		for k, cell := range r {
			line += fmt.Sprintf(" %-*s ", width[k], cell)
		}
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
