package face

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/control"
)

// phaseTexts are what a status says of the phases of Run.
var phaseTexts = [...]string{
	control.PhaseRegister:  "registering topics",
	control.PhaseDelay:     "waiting after advertising",
	control.PhaseWait:      "waiting for subscribers",
	control.PhasePlay:      "playing",
	control.PhaseKeepAlive: "all is published",
	control.PhaseDrain:     "subscribers are still reading",
	control.PhaseDone:      "done",
}

// Status returns the state of play and of its topics, for rosctl.
func (f *Face) Status(node string) (stamp time.Time, parts []stdmsg.DiagnosticStatus) {
	stamp = time.Now()
	c, err := f.controlOrError()
	if err != nil {
		return stamp, nil
	}
	stats := c.Stats()
	return stamp, diagnostics(node, &stats)
}

// diagnostics describes play, then its topics.
func diagnostics(node string, s *control.Stats) []stdmsg.DiagnosticStatus {
	parts := []stdmsg.DiagnosticStatus{playDiagnostics(node, s)}
	for i := range s.Topics {
		parts = append(parts, topicDiagnostics(node, &s.Topics[i]))
	}
	return parts
}

func playDiagnostics(node string, s *control.Stats) stdmsg.DiagnosticStatus {
	dropped := s.Dropped()
	var bookmarks []string
	for _, b := range s.Bookmarks {
		bookmarks = append(bookmarks, precise(b))
	}
	d := stdmsg.DiagnosticStatus{
		Name: node + ": playing", Message: state(s),
		Values: []stdmsg.DiagnosticValue{
			{Key: "phase", Value: phaseTexts[s.Phase]},
			{Key: "paused", Value: strconv.FormatBool(s.Paused)},
			{Key: "paused by topic", Value: s.PausedBy},
			{Key: "position", Value: precise(s.Position)},
			{Key: "length", Value: precise(s.Length)},
			{Key: "bag time", Value: s.BagTime.String()},
			{Key: "rate", Value: factor(s.Rate)},
			{Key: "rate achieved", Value: factor(s.Achieved())},
			{Key: "pass", Value: strconv.Itoa(s.Pass)},
			{Key: "seeks", Value: strconv.FormatUint(s.Seeks, 10)},
			{Key: "messages", Value: strconv.FormatUint(s.Messages, 10)},
			{Key: "dropped", Value: strconv.FormatUint(dropped, 10)},
			{Key: "damaged places", Value: strconv.Itoa(s.Damage.Places)},
			{Key: "lost in damaged places", Value: s.Damage.Lost()},
			{Key: "seconds late", Value: precise(s.Late)},
			{Key: "seconds behind rate control", Value: precise(s.Delayed)},
			{Key: "waits for the disk", Value: strconv.FormatUint(s.Starved, 10)},
			{Key: "bytes read ahead", Value: strconv.Itoa(s.AheadBytes)},
			{Key: "waiting for", Value: strings.Join(s.WaitingFor, " ")},
			{Key: "loop", Value: strconv.FormatBool(s.Loop)},
			{Key: "loop from", Value: precise(s.LoopFrom)},
			{Key: "loop to", Value: precise(s.LoopTo)},
			{Key: "bookmarks", Value: strings.Join(bookmarks, " ")},
			{Key: "pauses on topics", Value: strconv.FormatBool(s.PauseOnTopics)},
		},
	}
	if dropped > 0 {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += fmt.Sprintf("; %d dropped", dropped)
	}
	if s.Damage.Places > 0 {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += fmt.Sprintf("; %s lost in damaged places (%d)", s.Damage.Lost(), s.Damage.Places)
	}
	return d
}

// state returns one line: what play does, and where.
func state(s *control.Stats) string {
	text := phaseTexts[s.Phase]
	switch {
	case s.Phase != control.PhasePlay:
	case s.Paused && s.PausedBy != "":
		text = "paused before a message of " + s.PausedBy
	case s.Paused:
		text = "paused"
	case s.Starving > 0:
		text = "waiting for the disk"
	case s.Delayed > 0:
		text = "delayed by rate control"
	case len(s.WaitingFor) > 0:
		text = "held up"
	}
	return fmt.Sprintf("%s at %s s of %s s", text, precise(s.Position), precise(s.Length))
}

func factor(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

func topicDiagnostics(node string, t *control.TopicStats) stdmsg.DiagnosticStatus {
	d := stdmsg.DiagnosticStatus{
		Name:    node + ": " + t.Name,
		Message: fmt.Sprintf("%s, %s", wording.Plural(t.Messages, "message"), humanize.IBytes(t.Bytes)),
		Values: []stdmsg.DiagnosticValue{
			{Key: "type", Value: t.Type},
			{Key: "latching", Value: strconv.FormatBool(t.Latching)},
			{Key: "off", Value: strconv.FormatBool(t.Off)},
			{Key: "pauses play", Value: strconv.FormatBool(t.Pauses)},
			{Key: "subscribers", Value: strconv.Itoa(len(t.Subscribers))},
			{Key: "messages", Value: strconv.FormatUint(t.Messages, 10)},
			{Key: "bytes", Value: strconv.FormatUint(t.Bytes, 10)},
			{Key: "dropped", Value: strconv.FormatUint(t.Dropped, 10)},
		},
	}
	for i := range t.Subscribers {
		sub := &t.Subscribers[i]
		if sub.Dropped > 0 {
			d.Values = append(d.Values,
				stdmsg.DiagnosticValue{
					Key:   "dropped for " + sub.CallerID,
					Value: strconv.FormatUint(sub.Dropped, 10),
				})
		}
	}
	switch {
	case t.Off:
		d.Message = "off"
	case t.Dropped > 0:
		d.Level = stdmsg.DiagnosticWarn
		d.Message += fmt.Sprintf("; %d dropped", t.Dropped)
	}
	return d
}
