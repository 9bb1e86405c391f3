package rosctl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/stdmsg"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// PlayOptions are the options of ServePlay.
type PlayOptions struct {
	Node    *tcpros.Node
	Control control.Control
	Log     *zap.Logger
}

// playing controls a player.
type playing struct {
	control control.Control
	report  playReport
}

// pausePlayback is a service of stock's player. Clients recognize players by it.
const pausePlayback = "pause_playback"

// ServePlay starts the services, command topics and status topic of a player.
func ServePlay(o PlayOptions) (*Server, error) {
	p := &playing{control: o.Control, report: playReport{name: o.Node.Name()}}
	return serve(o.Node, o.Log, p, pausePlayback)
}

func (p *playing) changed() <-chan struct{} { return p.control.Changed() }

func (p *playing) status() []byte { return p.report.status(p.control.Stats(), time.Now()) }

func (p *playing) offer(s *Server) error {
	err := s.triggers(map[string]command{
		"play": p.play, "pause": p.pause, "toggle": p.toggle, "is_paused": p.isPaused,
		"step": p.step, "step_back": p.stepBack, "stop": p.stop,
		"mark_from": p.markFrom, "mark_to": p.markTo, "bookmark": p.bookmark,
	})
	if err != nil {
		return err
	}
	err = s.switches(map[string]func(bool) tcpros.Outcome{pausePlayback: p.setPaused, "loop": p.setLoop, "pause_on_topics": p.pauseOnTopics})
	if err != nil {
		return err
	}
	return s.commandTopics([]commandTopic{
		{"seek", "std_msgs/Float64", stdmsg.MD5Sum(std_msgs.Float64{}), 8, p.seek},
		{"seek_to", "std_msgs/Time", stdmsg.MD5Sum(std_msgs.Time{}), 8, p.seekTo},
		{"set_rate", "std_msgs/Float64", stdmsg.MD5Sum(std_msgs.Float64{}), 8, p.setRate},
		{"burst", "std_msgs/UInt32", stdmsg.MD5Sum(std_msgs.UInt32{}), 4, p.burst},
	})
}

// setPaused answers as stock does: success reports that the state has changed.
func (p *playing) setPaused(paused bool) tcpros.Outcome {
	switch {
	case paused && p.control.Pause():
		return tcpros.Outcome{Success: true, Message: "Playback is now paused"}
	case paused:
		return tcpros.Outcome{Message: "Bag is already paused."}
	case p.control.Resume():
		return tcpros.Outcome{Success: true, Message: "Playback is now resumed"}
	}
	return tcpros.Outcome{Message: "Bag is already running."}
}

func (p *playing) play(context.Context) (string, error) {
	if !p.control.Resume() && p.control.Status().Phase == control.PhasePlay {
		return "already playing", nil
	}
	return p.doing(), nil
}

func (p *playing) pause(context.Context) (string, error) {
	if !p.control.Pause() {
		return "already paused" + p.at(), nil
	}
	return "paused" + p.at(), nil
}

func (p *playing) toggle(context.Context) (string, error) {
	if p.control.Toggle() {
		return "paused" + p.at(), nil
	}
	return p.doing(), nil
}

// isPaused answers with success while play is paused.
func (p *playing) isPaused(context.Context) (string, error) {
	if !p.control.Status().Paused {
		return "", errors.New(p.doing())
	}
	return "paused" + p.at(), nil
}

func (p *playing) step(context.Context) (string, error) {
	from := p.from()
	if !p.control.Step() {
		return "", p.cannotStep()
	}
	return "one message on" + from, nil
}

func (p *playing) stepBack(context.Context) (string, error) {
	from := p.from()
	if !p.control.StepBack() {
		return "", p.cannotStep()
	}
	return "one message back" + from, nil
}

// cannotStep says why a message cannot be played by itself.
func (p *playing) cannotStep() error {
	if !p.control.Status().Paused {
		return errors.New("play is not paused: ~pause comes first")
	}
	return errors.New("there is no message to go to")
}

func (p *playing) stop(context.Context) (string, error) {
	p.control.Stop()
	return "stopped" + p.at(), nil
}

func (p *playing) setLoop(on bool) tcpros.Outcome {
	p.control.SetLoop(on)
	if !on {
		return tcpros.Outcome{Success: true, Message: "not looping"}
	}
	s := p.control.Status()
	return tcpros.Outcome{Success: true, Message: fmt.Sprintf("looping from %s s to %s s", precise(s.MarkFrom), precise(s.MarkTo))}
}

func (p *playing) pauseOnTopics(on bool) tcpros.Outcome {
	p.control.PauseOnTopics(on)
	switch now := p.control.Status().PauseOnTopics; {
	case now != on:
		return tcpros.Outcome{Message: "there are no topics to pause on: goplay was started without --pause-topics"}
	case on:
		return tcpros.Outcome{Success: true, Message: "pausing before each message of --pause-topics"}
	}
	return tcpros.Outcome{Success: true, Message: "not pausing on topics"}
}

func (p *playing) markFrom(context.Context) (string, error) {
	s := p.control.Status()
	to := s.MarkTo
	if to <= s.Position {
		to = s.Length
	}
	return p.mark(s.Position, to)
}

func (p *playing) markTo(context.Context) (string, error) {
	s := p.control.Status()
	from := s.MarkFrom
	if from >= s.Position {
		from = 0
	}
	return p.mark(from, s.Position)
}

func (p *playing) mark(from, to time.Duration) (string, error) {
	if err := p.control.SetMarks(from, to); err != nil {
		return "", err
	}
	return fmt.Sprintf("~loop goes from %s s to %s s", precise(from), precise(to)), nil
}

func (p *playing) bookmark(context.Context) (string, error) {
	at, err := p.control.Bookmark()
	if err != nil {
		return "", err
	}
	return "bookmark at " + precise(at) + " s", nil
}

// from returns the text for the position before a command.
func (p *playing) from() string { return " from " + precise(p.control.Status().Position) + " s" }

// doing returns the text for what play does and where, as ~status has it.
func (p *playing) doing() string {
	s := p.control.Stats()
	return state(&s)
}

// at returns the text for the present position.
func (p *playing) at() string {
	s := p.control.Status()
	return fmt.Sprintf(" at %s s of %s s", precise(s.Position), precise(s.Length))
}

// seek seeks to a number of seconds after the first message or, if it is negative, before the
// last one.
func (p *playing) seek(payload []byte) (string, error) {
	seconds, err := float(payload)
	if err != nil {
		return "", err
	}
	to := nanoseconds(seconds)
	if seconds < 0 {
		to += p.control.Status().Length
	}
	return p.goTo(to)
}

// seekTo seeks to a time in the bags.
func (p *playing) seekTo(payload []byte) (string, error) {
	t := rosbag.Time{Sec: binary.LittleEndian.Uint32(payload), Nsec: binary.LittleEndian.Uint32(payload[4:])}
	s := p.control.Status()
	return p.goTo(s.Position + t.Sub(s.BagTime))
}

func (p *playing) goTo(to time.Duration) (string, error) {
	to = min(max(to, 0), p.control.Status().Length) // as Seek does
	p.control.Seek(to)
	return "seek to " + precise(to) + " s", nil
}

func (p *playing) setRate(payload []byte) (string, error) {
	rate, err := float(payload)
	if err != nil {
		return "", err
	}
	if err := p.control.SetRate(rate); err != nil {
		return "", err
	}
	return "rate " + strconv.FormatFloat(rate, 'g', -1, 64), nil
}

func (p *playing) burst(payload []byte) (string, error) {
	n := int(min(binary.LittleEndian.Uint32(payload), math.MaxInt32))
	if n == 0 {
		return "", errors.New("a burst of no messages")
	}
	if !p.control.Burst(n) {
		return "", p.cannotStep()
	}
	return "burst of " + plural.Of(n, "message"), nil
}

// float reads a std_msgs/Float64.
func float(payload []byte) (float64, error) {
	f := math.Float64frombits(binary.LittleEndian.Uint64(payload))
	if math.IsNaN(f) {
		return 0, errors.New("not a number")
	}
	return f, nil
}

// nanoseconds converts seconds to a Duration, if they are in range.
func nanoseconds(seconds float64) time.Duration {
	const most = float64(math.MaxInt64 / 4) // sums of two are in range, too
	return time.Duration(math.Round(max(-most, min(seconds*1e9, most))))
}

func precise(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
