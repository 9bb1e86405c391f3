// Package recordface shows a recording, and takes orders for it, on the web and on the ROS graph. It
// knows the contract of the recorder only.
package recordface

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/lastminute"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/recorder/control"
)

//go:embed assets
var assets embed.FS

// Face shows a recording, and takes orders for it. It implements web.Backend.
type Face struct {
	control control.Recording
	pin     time.Duration // how far back a pin reaches by default

	// Owned by Poll, whose calls come one at a time.
	rates rates
	lost  lastminute.Counter // lost messages
	links lastminute.Counter // lost links to publishers

	onGraph rates         // owned by Status, whose calls come one at a time
	service control.Stats // statistics at the last call of Service, which owns them

	mu      sync.Mutex // guards minutes
	minutes map[string]*lastminute.Rates
}

// New returns the face of a recording. pin is how far back a pin reaches by default.
func New(recording control.Recording, pin time.Duration) *Face {
	return &Face{control: recording, pin: pin, service: control.Stats{Taken: time.Now()}, minutes: map[string]*lastminute.Rates{}}
}

// Program implements web.Backend.
func (*Face) Program() string { return "gorecord" }

// KnownBy returns the service by which clients recognize the program.
func (*Face) KnownBy() string { return pauseRecording }

// Pages implements web.Backend.
func (*Face) Pages() fs.FS { return web.Files(assets) }

// Changed implements web.Backend.
func (f *Face) Changed() <-chan struct{} { return f.control.Changed() }

// recordState is the state of a recording as JSON. Times are in seconds; null means unknown.
type recordState struct {
	State      string        `json:"state"` // none, recording, paused or stopped
	Ending     bool          `json:"ending"`
	Elapsed    float64       `json:"elapsed"`
	File       string        `json:"file"` // without the directory
	Part       int           `json:"part"`
	FileBytes  int64         `json:"file_bytes"`
	Bytes      int64         `json:"bytes"`
	Messages   uint64        `json:"messages"`
	Dropped    uint64        `json:"dropped"`
	Missed     uint64        `json:"missed"`
	LostMinute uint64        `json:"lost_last_minute"` // dropped and missed
	Buffered   int64         `json:"buffered"`
	BufferMost *int64        `json:"buffer_most"`
	DiskFree   *int64        `json:"disk_free"`
	TimeLeft   *float64      `json:"time_left"`
	Finished   int           `json:"finished"` // number of finished bags
	Pin        float64       `json:"pin"`      // how far back a pin reaches
	Snapshots  *snapshots    `json:"snapshots"`
	Uploads    *uploads      `json:"uploads"`
	Triggers   []triggerJSON `json:"triggers,omitempty"`
	Topics     []recordTopic `json:"topics"`
}

type snapshots struct {
	Only  bool    `json:"only"` // only snapshots are written
	Held  float64 `json:"held"`
	Bytes int64   `json:"bytes"` // bytes of the buffers that a snapshot would use
	Taken int     `json:"taken"`
	File  string  `json:"file"` // name of the snapshot that is being written
}

type uploads struct {
	Waiting      int    `json:"waiting"` // bags that are not uploaded yet
	WaitingBytes int64  `json:"waiting_bytes"`
	Done         int    `json:"done"` // bags that are uploaded
	DoneBytes    int64  `json:"done_bytes"`
	Sent         int64  `json:"sent"` // bytes sent, repeated attempts included
	Failures     int    `json:"failures"`
	Refused      int    `json:"refused"` // bags whose names the store has with other content
	Lost         int    `json:"lost"`    // bags that were deleted before their upload
	Error        string `json:"error"`   // error of the last attempt; empty if the attempt succeeded
	Store        store  `json:"store"`
}

// store is the state of the object storage that receives the uploads.
type store struct {
	State string  `json:"state"` // unchecked, ok, unreachable or failing
	For   float64 `json:"for"`   // seconds since the state began
	Error string  `json:"error"` // why the store is unreachable or failing, and what to do
}

type triggerJSON struct {
	Option     string `json:"option"`
	Expression string `json:"expression"`
	Fired      uint64 `json:"fired"`
	Suppressed uint64 `json:"suppressed"` // times that the expression turned true within --trigger-pause
	Refused    uint64 `json:"refused"`    // times that the recording did not carry out the action
	Skipped    uint64 `json:"skipped"`    // messages that were not looked at
	Errors     uint64 `json:"errors"`     // messages that could not be evaluated
}

type recordTopic struct {
	Topic          string            `json:"topic"`
	Type           string            `json:"type"`
	Publishers     int               `json:"publishers"`
	Messages       uint64            `json:"messages"`
	Bytes          uint64            `json:"bytes"`
	Hz             float64           `json:"hz"`
	BytesPerSecond float64           `json:"bytes_per_second"`
	Dropped        uint64            `json:"dropped"`
	Causes         map[string]uint64 `json:"causes,omitempty"`
	Missed         uint64            `json:"missed"`
	Passed         uint64            `json:"passed"`
	Age            *float64          `json:"age"` // since the last message
}

// Poll implements web.Backend.
func (f *Face) Poll(now time.Time) web.View {
	stats, err := f.control.Stats()
	if err != nil {
		return web.View{State: recordState{State: "none", Topics: []recordTopic{}}, NotReady: err.Error()}
	}
	if f.rates.update(&stats) {
		f.keepMinute(&stats)
	}
	s := recordState{
		State: stats.State.String(), Ending: stats.Ending, Elapsed: web.Seconds(stats.Elapsed), Part: stats.Part,
		File: base(stats.File), FileBytes: stats.FileBytes, Bytes: stats.Bytes,
		Buffered: stats.Buffered, BufferMost: known(stats.BufferMost), DiskFree: known(stats.DiskFree),
		Finished: stats.Finished, Pin: web.Seconds(f.pin), Topics: make([]recordTopic, 0, len(stats.Topics)),
	}
	if stats.TimeLeft >= 0 {
		left := web.Seconds(stats.TimeLeft)
		s.TimeLeft = &left
	}
	if sn := stats.Snapshots; sn.Mode != control.SnapshotOff {
		s.Snapshots = &snapshots{Only: sn.Mode == control.SnapshotOnly, Held: web.Seconds(sn.Held), Bytes: sn.Bytes, Taken: sn.Taken, File: base(sn.File)}
	}
	if h := stats.Handover; h != nil {
		s.Uploads = &uploads{
			h.Waiting, h.WaitingBytes, h.Done, h.DoneBytes, h.Sent, h.Failures, h.Refused, h.Lost, h.Err,
			store{h.State.String(), web.Seconds(max(stats.Taken.Sub(h.StateSince), 0)), h.StateErr},
		}
	}
	for i := range stats.Triggers {
		t := &stats.Triggers[i]
		s.Triggers = append(s.Triggers, triggerJSON{t.Option, t.Expression, t.Fired, t.Suppressed, t.Refused, t.Skipped, t.Errors})
	}
	for i := range stats.Topics {
		t := f.topic(&stats, i)
		s.Messages += t.Messages
		s.Dropped += t.Dropped
		s.Missed += t.Missed
		s.Topics = append(s.Topics, t)
	}
	s.LostMinute = f.lost.Add(now, s.Dropped+s.Missed)
	return web.View{State: s, Health: f.health(now, &stats, &s), NotReady: notReadyReason(&stats)}
}

// keepMinute adds the present rate of each topic to its rates of the last minute.
func (f *Face) keepMinute(stats *control.Stats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, r := range f.rates.topics {
		topic := stats.Topics[i].Topic
		minute := f.minutes[topic]
		if minute == nil {
			minute = new(lastminute.Rates)
			f.minutes[topic] = minute
		}
		minute.Add(int64(stats.Elapsed/time.Second), round(r.messages))
	}
}

// round rounds a rate to tenths, as the page shows rates.
func round(hz float64) float64 { return math.Round(hz*10) / 10 }

func (f *Face) topic(stats *control.Stats, i int) recordTopic {
	t := &stats.Topics[i]
	r := recordTopic{
		Topic: t.Topic, Type: t.Type, Publishers: t.Publishers, Messages: t.Messages, Bytes: t.Bytes,
		Dropped: t.Dropped, Causes: t.Causes, Missed: t.Missed, Passed: t.Passed,
	}
	now := f.rates.of(i)
	r.Hz, r.BytesPerSecond = round(now.messages), math.Round(now.bytes)
	if !t.Last.IsZero() {
		age := web.Seconds(max(stats.Taken.Sub(t.Last), 0))
		r.Age = &age
	}
	return r
}

// LowTime is the time until the disk is full below which there is a warning.
const LowTime = 10 * time.Minute

// recordDetails are the details of the health.
type recordDetails struct {
	State      string   `json:"state"`
	Topics     int      `json:"topics"`
	Publishers int      `json:"publishers"` // publishers with a link
	Unlinked   int      `json:"topics_without_publisher"`
	LinksLost  uint64   `json:"links_lost_last_minute"`
	Lost       uint64   `json:"messages_lost_last_minute"`
	DiskFree   *int64   `json:"disk_free"`
	TimeLeft   *float64 `json:"time_left"`
	Uploads    *uploads `json:"uploads,omitempty"`
}

func (f *Face) health(now time.Time, stats *control.Stats, s *recordState) web.Health {
	d := recordDetails{State: s.State, Topics: len(s.Topics), Lost: s.LostMinute, DiskFree: s.DiskFree, TimeLeft: s.TimeLeft, Uploads: s.Uploads}
	lost := uint64(0)
	for i := range stats.Topics {
		d.Publishers += stats.Topics[i].Publishers
		lost += uint64(stats.Topics[i].LinksLost)
		if stats.Topics[i].Publishers == 0 {
			d.Unlinked++
		}
	}
	d.LinksLost = f.links.Add(now, lost)
	h := web.Health{Details: d}
	h.Require(d.Lost == 0, fmt.Sprintf("%s %s lost within the last minute", plural.Of(d.Lost, "message"), plural.Were(d.Lost)))
	h.Require(d.LinksLost == 0, fmt.Sprintf("links to publishers were lost within the last minute (%d)", d.LinksLost))
	h.Require(stats.TimeLeft < 0 || stats.TimeLeft >= LowTime, fmt.Sprintf("the disk will be full in %v", stats.TimeLeft.Round(time.Second)))
	h.Require(!stats.Ending, "the recording is ending")
	if u := s.Uploads; u != nil { // an unreachable store is not a problem: robots leave their network
		h.Require(stats.Handover.State != control.HandoverFailing, fmt.Sprintf("the store has refused uploads since %s: %s",
			stats.Handover.StateSince.UTC().Format(time.RFC3339), u.Store.Error))
		h.Require(u.Refused == 0, fmt.Sprintf("bags are not uploaded because the store has other objects of their names (%d)", u.Refused))
		h.Require(u.Lost == 0, fmt.Sprintf("bags were deleted before they were uploaded (%d)", u.Lost))
	}
	return h
}

// notReadyReason says why messages would not be recorded now; empty if they would.
func notReadyReason(stats *control.Stats) string {
	switch {
	case stats.Ending:
		return "the recording is ending"
	case stats.File == "" && (stats.Snapshots.Mode != control.SnapshotOnly || stats.State == control.StateStopped):
		return "there is no bag: the recording is " + stats.State.String()
	}
	return ""
}

// base returns the name of a file without its directory, which clients need not know.
func base(file string) string {
	if file == "" {
		return ""
	}
	return filepath.Base(file)
}

// known returns a count, or nil for a negative one.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// Describe implements prometheus.Collector.
func (f *Face) Describe(ch chan<- *prometheus.Desc) { recordMetrics.Describe(ch) }
