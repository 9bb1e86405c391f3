package scene

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/rosmsg"
)

const maxLines = 1000

// LogScene is the lines of the log up to the playhead, the newest last.
type LogScene struct {
	Kind  Kind      `json:"kind"`
	Lines []LogLine `json:"lines"`
	// More is how many earlier lines are left out.
	More int `json:"more,omitempty"`
}

// LogLine is one line.
type LogLine struct {
	At       float64 `json:"at"`    // of its receipt, in seconds
	Level    int     `json:"level"` // 1 is debug, 2 info, 4 warning, 8 error and 16 fatal
	Node     string  `json:"node"`
	Text     string  `json:"text"`
	File     string  `json:"file,omitempty"`
	Line     int64   `json:"line,omitempty"`
	Function string  `json:"function,omitempty"`
}

// levels2 are the levels of ROS 2 as those of ROS 1.
var levels2 = map[int]int{10: 1, 20: 2, 30: 4, 40: 8, 50: 16}

// logKey tells lines apart: /rosout and /rosout_agg have the same ones.
type logKey struct {
	stamp rosmsg.Stamp
	sum   uint64
}

// logList gathers lines.
type logList struct {
	options Options
	lines   []LogLine // a ring, once it is full
	keys    []logKey
	known   map[logKey]bool
	total   int
	seed    maphash.Seed
}

// Add implements Gatherer.
func (l *logList) Add(m Message) error {
	if l.options.after(m.Time) {
		return nil
	}
	p := message{t: m.Type, payload: m.Payload}
	e := LogLine{At: l.options.seconds(m.Time), Node: p.text("name")}
	level := int(p.integer("level"))
	text := p.field("msg")
	e.Level, e.Text = level, cut(text)
	if is, ok := levels2[level]; ok {
		e.Level = is
	}
	if p.err != nil {
		return p.err
	}
	if !l.options.wants(e.Level, e.Node, string(text.Bytes())) {
		return nil
	}
	e.File, e.Line, e.Function = p.text("file"), p.integer("line"), p.text("function")
	var key logKey
	if p.has("header.stamp") {
		key.stamp = p.field("header.stamp").Time()
	}
	if p.err != nil {
		return p.err
	}
	if l.total == 0 {
		l.seed = maphash.MakeSeed()
	}
	key.sum = maphash.String(l.seed, e.Node+"\x00"+e.Text)
	if key.stamp != (rosmsg.Stamp{}) && l.known[key] {
		return nil
	}
	l.known[key] = true
	if len(l.lines) < maxLines {
		l.lines, l.keys = append(l.lines, e), append(l.keys, key)
	} else {
		at := l.total % maxLines
		delete(l.known, l.keys[at])
		l.lines[at], l.keys[at] = e, key
	}
	l.total++
	return nil
}

// wants reports whether a line is at least of the level, of the node, and has the text. Those are in
// lower case.
func (o *Options) wants(level int, node, text string) bool {
	return level >= o.Level && contains(node, o.Node) && contains(text, o.Text)
}

// Only removes the lines that o does not want, of those that are there.
func (s *LogScene) Only(o Options) {
	o.Node, o.Text = strings.ToLower(o.Node), strings.ToLower(o.Text)
	s.Lines = slices.DeleteFunc(s.Lines, func(e LogLine) bool { return !o.wants(e.Level, e.Node, e.Text) })
}

// contains reports whether a text has a part, which is in lower case.
func contains(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), part)
}

// Scene implements Gatherer.
func (l *logList) Scene() any {
	s := &LogScene{Kind: Log, Lines: make([]LogLine, 0, len(l.lines)), More: l.total - len(l.lines)}
	at := 0
	if s.More > 0 {
		at = l.total % maxLines
	}
	s.Lines = append(append(s.Lines, l.lines[at:]...), l.lines[:at]...)
	return s
}
