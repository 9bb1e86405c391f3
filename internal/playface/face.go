// Package playface shows play, and takes orders for it, on the web and on the ROS graph. It knows
// the contract of the player only.
package playface

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/command"
	"github.com/gorosbag/gorosbag/internal/lastminute"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/player/control"
)

//go:embed assets
var assets embed.FS

// Face shows play, and takes orders for it. It implements web.Backend.
type Face struct {
	control  atomic.Pointer[attached]
	begun    chan struct{} // closed by Attach
	recorded []bagnote.Mark

	dropped lastminute.Counter // dropped messages; owned by Poll, whose calls come one at a time
}

// attached wraps the interface for an atomic pointer.
type attached struct{ control.Control }

// New returns a face, which is not ready before Attach. marks are the marks in the bags.
func New(marks ...bagnote.Mark) *Face {
	return &Face{begun: make(chan struct{}), recorded: marks}
}

// Attach sets the control of the playback. It is called once.
func (f *Face) Attach(control control.Control) {
	f.control.Store(&attached{control})
	close(f.begun)
}

// errNoPlayer means that the player has not begun yet.
var errNoPlayer = command.Refused(command.Unavailable, "nothing is played yet")

// controlOrError returns the control, or errNoPlayer before Attach.
func (f *Face) controlOrError() (control.Control, error) {
	if a := f.control.Load(); a != nil {
		return a.Control, nil
	}
	return nil, errNoPlayer
}

// Program implements web.Backend.
func (*Face) Program() string { return "goplay" }

// KnownBy returns the service by which clients recognize the program.
func (*Face) KnownBy() string { return pausePlayback }

// Pages implements web.Backend.
func (*Face) Pages() fs.FS { return web.Files(assets) }

// Changed implements web.Backend.
func (f *Face) Changed() <-chan struct{} {
	if c, err := f.controlOrError(); err == nil {
		return c.Changed()
	}
	return f.begun
}

// playState is the state of a playback as JSON. Times are in seconds; positions count
// from the first message that is played; null means unknown.
type playState struct {
	Phase         string      `json:"phase"` // none, register, delay, wait, play, keep_alive, drain or done
	Paused        bool        `json:"paused"`
	Rate          float64     `json:"rate"`
	Achieved      float64     `json:"achieved"` // 0 while not known
	Late          float64     `json:"late"`
	BagTime       float64     `json:"bag_time"` // seconds since 1970
	Position      float64     `json:"position"`
	Length        float64     `json:"length"`
	Pass          int         `json:"pass"`
	Messages      uint64      `json:"messages"`
	Dropped       uint64      `json:"dropped"`
	Damaged       int         `json:"damaged_places"`
	LostInDamage  *uint64     `json:"lost_in_damage"` // at most
	Loop          bool        `json:"loop"`
	MarkFrom      float64     `json:"mark_from"`
	MarkTo        float64     `json:"mark_to"`
	Bookmarks     []float64   `json:"bookmarks"`
	PauseOnTopics bool        `json:"pause_on_topics"`
	PausedBy      string      `json:"paused_by"` // a topic
	Delayed       float64     `json:"delayed"`   // by rate control
	Seeks         uint64      `json:"seeks"`
	Starved       uint64      `json:"starved"`
	Starving      float64     `json:"starving"` // duration of the current wait for the disk
	Ahead         int         `json:"ahead_bytes"`
	WaitingFor    []string    `json:"waiting_for"`
	Topics        []playTopic `json:"topics"`
}

type playTopic struct {
	Topic       string `json:"topic"`
	Type        string `json:"type"`
	Latching    bool   `json:"latching"`
	On          bool   `json:"on"`
	Pauses      bool   `json:"pauses"`
	Messages    uint64 `json:"messages"`
	Bytes       uint64 `json:"bytes"`
	Dropped     uint64 `json:"dropped"`
	Subscribers int    `json:"subscribers"`
}

// phases are the names of control.Phase.
var phases = [...]string{ //nolint:gochecknoglobals // a constant, but for the language
	control.PhaseRegister: "register", control.PhaseDelay: "delay", control.PhaseWait: "wait", control.PhasePlay: "play",
	control.PhaseKeepAlive: "keep_alive", control.PhaseDrain: "drain", control.PhaseDone: "done",
}

// Poll implements web.Backend.
func (f *Face) Poll(now time.Time) web.View {
	c, err := f.controlOrError()
	if err != nil {
		h := web.Health{}
		h.Require(false, err.Error())
		return web.View{State: playState{Phase: "none", Bookmarks: []float64{}, WaitingFor: []string{}, Topics: []playTopic{}}, Health: h, NotReady: err.Error()}
	}
	stats := c.Stats()
	s := playState{
		Phase: phases[stats.Phase], Paused: stats.Paused, Rate: stats.Rate, Achieved: math.Round(stats.Achieved*1000) / 1000,
		Late: stats.Late.Round(time.Microsecond).Seconds(), BagTime: float64(stats.BagTime.Std().UnixMilli()) / 1e3,
		Position: web.Seconds(stats.Position), Length: web.Seconds(stats.Length), Pass: stats.Pass, Messages: stats.Messages,
		Loop: stats.Loop, MarkFrom: web.Seconds(stats.MarkFrom), MarkTo: web.Seconds(stats.MarkTo), Bookmarks: make([]float64, len(stats.Bookmarks)),
		PauseOnTopics: stats.PauseOnTopics, PausedBy: stats.PausedBy, Delayed: web.Seconds(stats.Delayed), Seeks: stats.Seeks,
		Starved: stats.Starved, Starving: web.Seconds(stats.Starving), Ahead: stats.AheadBytes, WaitingFor: append([]string{}, stats.WaitingFor...),
		Topics: make([]playTopic, len(stats.Topics)), Damaged: stats.Damage.Places,
	}
	if stats.Damage.Unknown == 0 {
		s.LostInDamage = &stats.Damage.Messages
	}
	for i, b := range stats.Bookmarks {
		s.Bookmarks[i] = web.Seconds(b)
	}
	for i := range stats.Topics {
		t := &stats.Topics[i]
		s.Dropped += t.Dropped
		s.Topics[i] = playTopic{t.Name, t.Type, t.Latching, !t.Off, t.Pauses, t.Messages, t.Bytes, t.Dropped, len(t.Subscribers)}
	}
	v := web.View{State: s, Health: f.health(now, &stats, s.Dropped)}
	if stats.Phase < control.PhasePlay || stats.Phase > control.PhaseKeepAlive {
		v.NotReady = "not playing: " + s.Phase
	}
	return v
}

// playDetails are the details of the health.
type playDetails struct {
	Phase      string   `json:"phase"`
	Lag        float64  `json:"lag"`
	Dropped    uint64   `json:"messages_dropped_last_minute"`
	WaitingFor []string `json:"waiting_for"`
}

// tooLate is the lag from which on there is a warning.
const tooLate = time.Second

func (f *Face) health(now time.Time, stats *control.Stats, dropped uint64) web.Health {
	d := playDetails{phases[stats.Phase], web.Seconds(stats.Late), f.dropped.Add(now, dropped), append([]string{}, stats.WaitingFor...)}
	h := web.Health{Details: d}
	h.Require(d.Dropped == 0, fmt.Sprintf("%s %s dropped within the last minute: subscribers are too slow", plural.Of(d.Dropped, "message"), plural.Were(d.Dropped)))
	h.Require(stats.Paused || stats.Late < tooLate, fmt.Sprintf("messages go out %v late", stats.Late.Round(time.Millisecond)))
	h.Require(len(d.WaitingFor) == 0, "waiting for "+strings.Join(d.WaitingFor, ", "))
	return h
}

// Describe implements prometheus.Collector.
func (f *Face) Describe(ch chan<- *prometheus.Desc) { playMetrics.Describe(ch) }
