// Package bagdiff compares a bag with a recording of its playback.
package bagdiff

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Message is one message of a topic, out of its bag.
type Message struct {
	Time     bagfmt.Time
	CallerID string
	Data     []byte
}

// Topic is all of one topic in a bag.
type Topic struct {
	Headers  []bagfmt.ConnectionHeader // of its connections
	Messages []Message                 // in time order
}

// Load reads a whole bag into memory, by topic.
func Load(path string) (map[string]*Topic, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	topics := map[string]*Topic{}
	for _, c := range r.Connections() {
		t := topics[c.Topic]
		if t == nil {
			t = &Topic{}
			topics[c.Topic] = t
		}
		t.Headers = append(t.Headers, c.Header)
	}
	for m, err := range r.All(bagfmt.Query{}) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		t := topics[m.Conn.Topic]
		t.Messages = append(t.Messages, Message{m.Time, m.Conn.Header.CallerID(), m.Data()})
	}
	return topics, nil
}

// Report says how a copy differs from its original. Playing changes the callerid,
// and joins the publishers of one topic: these are not differences.
type Report struct {
	Differences []string
	Messages    int             // compared
	Timing      []time.Duration // error of each message's spacing from the start, sorted by size
}

// Compare compares topics, connection headers, payloads with their order, and times.
func Compare(original, replayed map[string]*Topic) Report {
	var r Report
	for _, name := range slices.Sorted(maps.Keys(original)) {
		a, b := original[name], replayed[name]
		if b == nil {
			r.add("%s: missing in the copy", name)
			continue
		}
		r.headers(name, a, b)
		r.payloads(name, a, b)
	}
	for _, name := range slices.Sorted(maps.Keys(replayed)) {
		if original[name] == nil {
			r.add("%s: only in the copy", name)
		}
	}
	r.Timing = spacing(original, replayed)
	return r
}

func (r *Report) add(format string, args ...any) {
	r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
}

// headers compares the connection headers of a topic, field by field but for the
// callerid: each one of either bag must be in the other.
func (r *Report) headers(name string, a, b *Topic) {
	left, right := withoutCallerID(a.Headers), withoutCallerID(b.Headers)
	for h := range left {
		if !right[h] {
			r.add("%s: missing in the copy: a header with %s", name, h)
		}
	}
	for h := range right {
		if !left[h] {
			r.add("%s: only in the copy: a header with %s", name, h)
		}
	}
}

// withoutCallerID returns each header as text without its callerid, fields sorted.
func withoutCallerID(headers []bagfmt.ConnectionHeader) map[string]bool {
	all := map[string]bool{}
	for _, h := range headers {
		var fields []string
		for _, f := range h {
			if f.Key != "callerid" {
				fields = append(fields, fmt.Sprintf("%s=%q", f.Key, f.Value))
			}
		}
		slices.Sort(fields)
		all[strings.Join(fields, " ")] = true
	}
	return all
}

// payloads compares the messages one by one. A replayed topic has one publisher, so
// the order is that of the whole topic, which holds that of each publisher.
func (r *Report) payloads(name string, a, b *Topic) {
	if len(a.Messages) != len(b.Messages) {
		r.add("%s: %d messages, %d in the copy", name, len(a.Messages), len(b.Messages))
		return
	}
	for i := range a.Messages {
		if !bytes.Equal(a.Messages[i].Data, b.Messages[i].Data) {
			r.add("%s: message %d differs", name, i)
			return
		}
	}
	r.Messages += len(a.Messages)
}

// spacing returns how far each message is from its place in time. The constant
// shift between the two bags is taken out as the median.
func spacing(original, replayed map[string]*Topic) []time.Duration {
	var shifts []time.Duration
	for name, a := range original {
		b := replayed[name]
		if b == nil || len(a.Messages) != len(b.Messages) {
			continue
		}
		for i := range a.Messages {
			shifts = append(shifts, b.Messages[i].Time.Sub(a.Messages[i].Time))
		}
	}
	if len(shifts) == 0 {
		return nil
	}
	slices.Sort(shifts)
	middle := shifts[len(shifts)/2]
	for i := range shifts {
		shifts[i] = (shifts[i] - middle).Abs()
	}
	slices.Sort(shifts)
	return shifts
}

// Percentile returns the timing error that p of 1 of the messages stay within.
func (r *Report) Percentile(p float64) time.Duration {
	if len(r.Timing) == 0 {
		return 0
	}
	i := int(math.Ceil(p*float64(len(r.Timing)))) - 1
	return r.Timing[max(i, 0)]
}

// Err returns the differences as an error, nil if there are none.
func (r *Report) Err() error {
	if len(r.Differences) == 0 {
		return nil
	}
	errs := make([]error, len(r.Differences))
	for i, d := range r.Differences {
		errs[i] = errors.New(d)
	}
	return errors.Join(errs...)
}
