package face

import (
	"maps"
	"math"
	"path/filepath"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/lastminute"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// recordState is the state of a recording as JSON. Times are in seconds; null means unknown.
type recordState struct {
	State      string         `json:"state"` // none, recording, paused or stopped
	Ending     bool           `json:"ending"`
	Elapsed    float64        `json:"elapsed"`
	File       string         `json:"file"` // without the directory
	Part       int            `json:"part"`
	FileBytes  int64          `json:"file_bytes"`
	Bytes      int64          `json:"bytes"`
	Messages   uint64         `json:"messages"`
	Dropped    uint64         `json:"dropped"`
	Missed     uint64         `json:"missed"`
	LostMinute uint64         `json:"lost_last_minute"` // dropped and missed
	Buffered   int64          `json:"buffered"`
	BufferMost *int64         `json:"buffer_most"`
	DiskFree   *int64         `json:"disk_free"`
	TimeLeft   *float64       `json:"time_left"`
	Finished   int            `json:"finished"` // number of finished bags
	Pin        float64        `json:"pin"`      // how far back a pin reaches
	Snapshots  *snapshots     `json:"snapshots"`
	Uploads    *uploads       `json:"uploads"`
	Triggers   []triggerJSON  `json:"triggers,omitempty"`
	Headlines  []string       `json:"headlines"` // what is wrong with topics, a line for each kind
	Findings   []findingJSON  `json:"findings"`
	Episodes   []episodesJSON `json:"episodes,omitempty"`
	Topics     []recordTopic  `json:"topics"`
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
	LeftOut        uint64            `json:"left_out"`
	Passed         uint64            `json:"passed"`
	Age            *float64          `json:"age"` // since the last message
	Latched        bool              `json:"latched"`
	Problems       []string          `json:"problems,omitempty"`
}

// Poll implements web.Backend.
func (f *Face) Poll(now time.Time) web.View {
	stats, err := f.control.Stats()
	if err != nil {
		return web.View{State: recordState{
			State: "none", Headlines: []string{}, Findings: []findingJSON{},
			Topics: []recordTopic{},
		}, NotReady: err.Error()}
	}
	if f.rates.update(&stats) {
		f.keepMinute(&stats)
	}
	s := recordState{
		State: stats.State.String(), Ending: stats.Ending, Elapsed: web.Seconds(stats.Elapsed),
		Part: stats.Part,
		File: base(stats.File), FileBytes: stats.FileBytes, Bytes: stats.Bytes,
		Buffered: stats.Buffered, BufferMost: known(stats.BufferMost), DiskFree: known(stats.DiskFree),
		Finished: stats.Finished, Pin: web.Seconds(f.pin), Topics: make([]recordTopic, 0, len(stats.Topics)),
		Headlines: append([]string{}, finding.Headlines(stats.Findings, named)...),
		Findings:  findings(&stats), Episodes: episodes(stats.Episodes),
		Uploads: uploadsOf(stats.Handover, stats.Taken), Triggers: triggers(stats.Triggers),
	}
	if stats.TimeLeft >= 0 {
		left := web.Seconds(stats.TimeLeft)
		s.TimeLeft = &left
	}
	if sn := stats.Snapshots; sn.Mode != control.SnapshotOff {
		s.Snapshots = &snapshots{
			Only: sn.Mode == control.SnapshotOnly, Held: web.Seconds(sn.Held),
			Bytes: sn.Bytes, Taken: sn.Taken, File: base(sn.File),
		}
	}
	wrong := problems(&stats)
	for i := range stats.Topics {
		t := f.topic(&stats, i)
		t.Problems = wrong[t.Topic]
		s.Messages += t.Messages
		s.Dropped += t.Dropped
		s.Missed += t.Missed
		s.Topics = append(s.Topics, t)
	}
	s.LostMinute = f.lost.Add(now, s.Dropped+s.Missed)
	return web.View{State: s, Health: f.health(now, &stats, &s), NotReady: notReadyReason(&stats)}
}

// uploadsOf returns the account of uploads; nil for none.
func uploadsOf(h *control.HandoverStats, now time.Time) *uploads {
	if h == nil {
		return nil
	}
	return &uploads{
		h.Waiting, h.WaitingBytes, h.Done, h.DoneBytes, h.Sent, h.Failures, h.Refused, h.Lost, h.Err,
		store{h.State.String(), web.Seconds(max(now.Sub(h.StateSince), 0)), h.StateErr},
	}
}

func triggers(stats []control.TriggerStats) (all []triggerJSON) {
	for i := range stats {
		t := &stats[i]
		all = append(all,
			triggerJSON{t.Option, t.Expression, t.Fired, t.Suppressed, t.Refused, t.Skipped, t.Errors})
	}
	return all
}

// keepMinute adds the present rate of each topic to its rates of the last minute.
func (f *Face) keepMinute(stats *control.Stats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	second := int64(stats.Elapsed / time.Second)
	for topic, r := range f.rates.topics {
		minute := f.minutes[topic]
		if minute == nil {
			minute = new(lastminute.Rates)
			f.minutes[topic] = minute
		}
		minute.Add(second, round(r.messages))
	}
	maps.DeleteFunc(f.minutes, func(_ string, minute *lastminute.Rates) bool { return minute.Over(second) })
}

// round rounds a rate to tenths, as the page shows rates.
func round(hz float64) float64 { return math.Round(hz*10) / 10 }

func (f *Face) topic(stats *control.Stats, i int) recordTopic {
	t := &stats.Topics[i]
	r := recordTopic{
		Topic: t.Topic, Type: t.Type, Publishers: t.Publishers, Messages: t.Messages, Bytes: t.Bytes,
		Dropped: t.Dropped, Causes: t.Causes, Missed: t.Missed, LeftOut: t.LeftOut, Passed: t.Passed,
		Latched: t.Latching,
	}
	now := f.rates.topics[t.Topic]
	r.Hz, r.BytesPerSecond = round(now.messages), math.Round(now.bytes)
	if !t.Last.IsZero() {
		age := web.Seconds(max(stats.Taken.Sub(t.Last), 0))
		r.Age = &age
	}
	return r
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
