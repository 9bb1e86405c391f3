package face

import (
	"math"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/player/control"
)

// playState is the state of a playback as JSON. Times are in seconds; positions count
// from the first message that is played; null means unknown.
type playState struct {
	Phase         string      `json:"phase"` // none, register, delay, wait, play, keep_alive, drain or done
	Paused        bool        `json:"paused"`
	Rate          float64     `json:"rate"`
	Pace          *float64    `json:"pace"`     // rate that was achieved in the last seconds
	Achieved      float64     `json:"achieved"` // since the first message; 0 while not known
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
	LoopFrom      float64     `json:"loop_from"`
	LoopTo        float64     `json:"loop_to"`
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
var phases = [...]string{
	control.PhaseRegister: "register", control.PhaseDelay: "delay", control.PhaseWait: "wait",
	control.PhasePlay:      "play",
	control.PhaseKeepAlive: "keep_alive", control.PhaseDrain: "drain", control.PhaseDone: "done",
}

// Poll implements web.Backend.
func (f *Face) Poll(now time.Time) web.View {
	c, err := f.controlOrError()
	if err != nil {
		h := web.Health{}
		h.Require(false, err.Error())
		return web.View{State: playState{
			Phase: "none", Bookmarks: []float64{}, WaitingFor: []string{},
			Topics: []playTopic{},
		}, Health: h, NotReady: err.Error()}
	}
	stats := c.Stats()
	f.pace.Add(&stats.Status)
	s := playState{
		Phase: phases[stats.Phase], Paused: stats.Paused, Rate: stats.Rate,
		Achieved: thousandths(stats.Achieved()),
		Late:     stats.Late.Round(time.Microsecond).Seconds(),
		BagTime:  float64(stats.BagTime.Std().UnixMilli()) / 1e3,
		Position: web.Seconds(stats.Position), Length: web.Seconds(stats.Length), Pass: stats.Pass,
		Messages: stats.Messages,
		Loop:     stats.Loop, LoopFrom: web.Seconds(stats.LoopFrom), LoopTo: web.Seconds(stats.LoopTo),
		Bookmarks:     make([]float64, len(stats.Bookmarks)),
		PauseOnTopics: stats.PauseOnTopics, PausedBy: stats.PausedBy, Delayed: web.Seconds(stats.Delayed),
		Seeks:   stats.Seeks,
		Starved: stats.Starved, Starving: web.Seconds(stats.Starving), Ahead: stats.AheadBytes,
		WaitingFor: append([]string{}, stats.WaitingFor...),
		Topics:     make([]playTopic, len(stats.Topics)), Damaged: stats.Damage.Places,
	}
	if pace, ok := f.pace.Pace(); ok {
		pace = thousandths(pace)
		s.Pace = &pace
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
		s.Topics[i] = playTopic{
			t.Name, t.Type, t.Latching, !t.Off, t.Pauses, t.Messages, t.Bytes, t.Dropped,
			len(t.Subscribers),
		}
	}
	v := web.View{State: s, Health: f.health(now, &stats, s.Dropped)}
	if stats.Phase < control.PhasePlay || stats.Phase > control.PhaseKeepAlive {
		v.NotReady = "not playing: " + s.Phase
	}
	return v
}

func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }
