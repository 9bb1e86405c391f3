package view

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/internal/view/kept"
	"github.com/gorosbag/gorosbag/internal/view/plot"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/request"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func cutField(text string) (topic, path string, ok bool) {
	topic, path, ok = strings.Cut(text, "|")
	return topic, path, ok && path != ""
}

// gapPeriods is how many periods without a message break a line.
const gapPeriods = 5

// series is one field of a plot.
type series struct {
	*field
	line  *plot.Line
	bands *plot.Bands
	sent  int // columns or bands that will not change any more
}

// progressAnswer says how far a plot or a search has come.
type progressAnswer struct {
	At   float64 `json:"at"`
	Done bool    `json:"done,omitempty"`

	Series []plot.End `json:"series,omitempty"` // of a plot that is done
	Skew   float64    `json:"skew,omitempty"`   // median of the recorded time minus header.stamp
	Damage string     `json:"damage,omitempty"`
}

// sendInterval is how often a plot or a search tells how far it has come.
const sendInterval = 200 * time.Millisecond

// plotter reads the messages of a plot.
type plotter struct {
	set    *recorded.Set
	axis   plot.Axis
	series []*series
	byName map[string][]*series
	stamps bool // the time is that of the header
	heads  map[*rosmsg.Type]*rosmsg.Path
	skews  []time.Duration
}

// maxSkews is how many differences between the times make the median.
const maxSkews = 1001

// plot answers with the columns of fields, as lines of JSON.
func (v *Viewer) plot(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	if k, ok := v.plots.Get(r.URL.RawQuery); ok {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write(k.Body) // whoever has gone does not need it
		return nil
	}
	p := &plotter{
		set: s, byName: make(map[string][]*series), stamps: r.FormValue("stamps") != "",
		heads: make(map[*rosmsg.Type]*rosmsg.Path),
	}
	if p.axis.From, p.axis.To, err = request.Window(r, s); err != nil {
		return err
	}
	if p.axis.Columns, err = request.Number(r, "columns", plot.MaxColumns); err != nil {
		return err
	}
	p.axis.Columns = max(p.axis.Columns, 1)
	fields, err := v.fields(r, s)
	if err != nil {
		return err
	}
	for _, f := range fields {
		x := &series{field: f}
		p.series = append(p.series, x)
		p.byName[f.topic.Name] = append(p.byName[f.topic.Name], x)
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	var whole bytes.Buffer
	lastSent := time.Now()
	damage := ""
	from, to := p.reach(r)
	n := 0
	for m, err := range s.Messages(r.Context(),
		func(c *rosbag.Connection) bool { return p.byName[c.Topic] != nil }, from, to) {
		if r.Context().Err() != nil {
			return r.Context().Err()
		}
		if err != nil {
			damage = wording.Explain(err).Error()
			continue
		}
		p.add(m)
		if n++; n%256 == 0 && time.Since(lastSent) > sendInterval {
			if p.send(&whole, false, request.Seconds(s, m.Time), damage); whole.Len() > 0 {
				b := whole.Bytes()
				if _, err := w.Write(b); err != nil || w.Flush() != nil {
					return errGone
				}
				whole.Reset()
			}
			lastSent = time.Now()
		}
	}
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	wasQuick := !slices.ContainsFunc(p.series, func(x *series) bool { return x.sent > 0 })
	p.send(&whole, true, request.Seconds(s, p.axis.To), damage)
	_, _ = w.Write(whole.Bytes()) // whoever has gone does not need it
	if !wasQuick {
		whole.Reset()
		for _, x := range p.series {
			x.sent = 0
		}
		p.send(&whole, true, request.Seconds(s, p.axis.To), damage)
	}
	v.plots.Put(kept.Answer{Key: r.URL.RawQuery, Body: whole.Bytes()})
	return nil
}

// errGone says that the client no longer reads.
var errGone = errors.New("the page has gone")

// reach returns the time of the messages that are wanted. With stamps of headers that is another one than
// the axis has, by as much as the first message says, and a second more.
func (p *plotter) reach(r *http.Request) (from, to rosbag.Time) {
	if !p.stamps {
		return p.axis.From, p.axis.To
	}
	found, err := p.set.At(r.Context(), p.series[0].topic.Name, p.axis.From)
	if err != nil {
		return p.axis.From, p.axis.To
	}
	stamp, ok := p.stamp(p.series[0].field, found.Message)
	if !ok {
		return p.axis.From, p.axis.To
	}
	skew := found.Time.Sub(stamp)
	return p.axis.From.Add(skew - time.Second), p.axis.To.Add(skew + time.Second)
}

// stamp returns the time in the header of a message, if it has one that is not zero.
func (p *plotter) stamp(f *field, m *rosbag.Message) (rosbag.Time, bool) {
	typ, err := f.types.of(m.Conn)
	if err != nil {
		return rosbag.Time{}, false
	}
	path, known := p.heads[typ]
	if !known {
		if path, err = typ.Path("header.stamp"); err != nil || path.Type() != "time" {
			path = nil
		}
		p.heads[typ] = path
	}
	if path == nil {
		return rosbag.Time{}, false
	}
	v, err := path.Lookup(m.Data())
	t := v.Time()
	return rosbag.Time{Sec: t.Secs, Nsec: t.Nsecs}, err == nil && (t.Secs != 0 || t.Nsecs != 0)
}

// add adds a message to the series of its topic.
func (p *plotter) add(m *rosbag.Message) {
	for _, x := range p.byName[m.Conn.Topic] {
		reads := x.of(m.Conn)
		if reads == nil {
			continue
		}
		t := m.Time
		if p.stamps {
			if stamp, ok := p.stamp(x.field, m); ok {
				if len(p.skews) < maxSkews {
					p.skews = append(p.skews, t.Sub(stamp))
				}
				t = stamp
			}
		}
		gap := gapPeriods * x.topic.Period
		if reads.Bands {
			if x.bands == nil {
				x.bands = plot.NewBands(p.axis, gap)
			}
			if text, err := reads.Text(m.Data()); err == nil {
				x.bands.Add(t, text)
			} else {
				x.failOn(err)
				x.bands.Break()
			}
			continue
		}
		if x.line == nil {
			x.line = plot.NewLine(p.axis, gap)
		}
		if value, err := reads.Number(m.Data()); err == nil {
			x.line.Add(t, value)
		} else {
			x.failOn(err)
			x.line.Break()
		}
	}
}

// failOn notes an error about a message, unless the message is only shorter than others.
func (x *series) failOn(err error) {
	if !errors.Is(err, plot.ErrNothing) {
		x.fail(err)
	}
}

// send writes what is new of all series.
func (p *plotter) send(b *bytes.Buffer, done bool, at float64, damage string) {
	out := json.NewEncoder(b)
	out.SetEscapeHTML(false)
	end := progressAnswer{At: at, Done: done, Damage: damage}
	for i, x := range p.series {
		part := plot.Part{Series: i, From: x.sent}
		if x.line != nil {
			part.SetColumns(x.line.Columns[x.sent:])
			x.sent = max(0, len(x.line.Columns)-1) // the last one may change
		}
		if x.bands != nil {
			part.SetBands(x.bands.List()[x.sent:], p.set.Start)
			x.sent = max(0, len(x.bands.List())-1)
		}
		if part.Columns != nil || part.Bands != nil {
			_ = out.Encode(part) // a buffer takes everything, and numbers are finite
		}
		if done {
			e := plot.End{}
			if x.err != nil {
				e.Error = x.err.Error()
			}
			if x.line != nil {
				e.Odd = x.line.Odd
			}
			end.Series = append(end.Series, e)
		}
	}
	if done && len(p.skews) > 0 {
		slices.Sort(p.skews)
		end.Skew = p.skews[len(p.skews)/2].Seconds()
	}
	_ = out.Encode(end) // as above
}

// csv answers with all values of fields as CSV.
func (v *Viewer) csv(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	from, to, err := request.Window(r, s)
	if err != nil {
		return err
	}
	fields, err := v.fields(r, s)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="plot.csv"`)
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	lines := csv.NewWriter(w)
	head := []string{"time"}
	byName := make(map[string]bool)
	for _, f := range fields {
		head = append(head, f.topic.Name+" "+f.path)
		byName[f.topic.Name] = true
	}
	_ = lines.Write(head) // the writer keeps its error
	damaged, first := 0, error(nil)
	for m, err := range s.Messages(r.Context(), func(c *rosbag.Connection) bool { return byName[c.Topic] },
		from, to) {
		if err != nil {
			damaged++
			first = cmp.Or(first, err)
			continue
		}
		line := []string{m.Time.String()}
		for _, f := range fields {
			text := ""
			if f.topic.Name == m.Conn.Topic {
				if reads := f.of(m.Conn); reads != nil {
					text, _ = reads.Text(m.Data()) // nothing where there is no value
				}
			}
			line = append(line, text)
		}
		if lines.Write(line) != nil {
			return errGone
		}
	}
	lines.Flush()
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	if damaged > 0 {
		why := wording.Shown(wording.Explain(first).Error())
		_, _ = fmt.Fprintf(w, "# values are missing: damage in %s: %s\n", wording.Plural(damaged, "place"), why)
	}
	for _, f := range fields {
		if f.err != nil {
			_, _ = fmt.Fprintf(w, "# %s: %s\n", f.path, wording.Shown(f.err.Error())) //nolint:gosec // it is CSV, and sent with nosniff
		}
	}
	return nil
}
