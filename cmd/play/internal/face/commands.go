package face

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/control"
)

// pausePlayback is a service of stock's player. Clients recognize players by it.
const pausePlayback = "pause_playback"

// maxBurst bounds the messages that one request over HTTP may publish.
const maxBurst = 1_000_000

// Commands returns the commands that steer play.
func (f *Face) Commands() []command.Command {
	on := []command.Param{{Name: "on", Kind: command.Bool}}
	return []command.Command{
		{Service: "play", HTTP: "play", Do: f.order(play)},
		{Service: "pause", HTTP: "pause", Do: f.order(pause)},
		{Service: "toggle", HTTP: "toggle", Do: f.order(toggle)},
		{Service: "is_paused", Query: true, Do: f.order(isPaused)},
		{Service: pausePlayback, Params: on, Do: f.order(setPaused)},
		{Service: "step", HTTP: "step", Do: f.order(step)},
		{Service: "step_back", HTTP: "step_back", Do: f.order(stepBack)},
		{
			HTTP: "burst", Params: []command.Param{{Name: "n", Kind: command.Count, Max: maxBurst}},
			Do: f.order(burst),
		},
		{Topic: "burst", Params: []command.Param{{Name: "n", Kind: command.Count}}, Do: f.order(burst)},
		{HTTP: "seek", Params: []command.Param{
			{Name: "to", Kind: command.Number},
			{Name: "by", Kind: command.Number},
		}, Do: f.order(seek)},
		{
			Topic: "seek", Params: []command.Param{{Name: "to", Kind: command.Number}},
			Do: f.order(seekFromEnds),
		},
		{
			Topic: "seek_to", Params: []command.Param{{Name: "time", Kind: command.Time}},
			Do: f.order(seekToTime),
		},
		{
			Topic: "set_rate", HTTP: "rate", Params: []command.Param{{Name: "rate", Kind: command.Number}},
			Do: f.order(setRate),
		},
		{Service: "loop", HTTP: "loop", Params: on, Do: f.order(setLoop)},
		{
			HTTP:   "loop_range",
			Params: []command.Param{{Name: "from", Kind: command.Number}, {Name: "to", Kind: command.Number}},
			Do:     f.order(setLoopRange),
		},
		{Service: "loop_from", Do: f.order(loopFrom)},
		{Service: "loop_to", Do: f.order(loopTo)},
		{Service: "bookmark", HTTP: "bookmark", Do: f.order(bookmark)},
		{Service: "pause_on_topics", HTTP: "pause_topics", Params: on, Do: f.order(pauseOnTopics)},
		{HTTP: "topic", Params: []command.Param{
			{Name: "topic", Kind: command.Text},
			{Name: "on", Kind: command.Bool},
		}, Do: f.order(setTopic)},
		{Service: "stop", HTTP: "stop", Do: f.order(stop)},
	}
}

// order makes a command of a function. The function returns what was done and whether that has
// changed anything. The result has the position after the command, for programs.
func (f *Face) order(do func(control.Control, command.Params) (text string, changed bool,
	err error),
) func(context.Context, command.Params) (command.Result, error) {
	return func(_ context.Context, given command.Params) (command.Result, error) {
		c, err := f.controlOrError()
		if err != nil {
			return command.Result{}, err
		}
		text, changed, err := do(c, given)
		if err != nil && command.KindOf(err) != command.NoChange {
			return command.Result{}, refusal(err)
		}
		at := c.Status()
		return command.Result{Text: text, Fields: []command.Field{
			{Name: "done", Value: changed},
			{Name: "paused", Value: at.Paused},
			{Name: "rate", Value: at.Rate},
			{Name: "position", Value: at.Position.Round(time.Millisecond).Seconds()},
		}}, err
	}
}

// refusal gives its kind to an error of a player.
func refusal(err error) error {
	switch {
	case errors.Is(err, control.ErrBookmarks):
		return command.Refuse(command.Conflict, err)
	case errors.Is(err, control.ErrOption):
		return command.Refuse(command.Invalid, err)
	}
	return err
}

// invalid says that an error is about a parameter.
func invalid(err error) error { return command.Refuse(command.Invalid, err) }

func play(c control.Control, _ command.Params) (string, bool, error) {
	if !c.Resume() {
		if c.Status().Phase == control.PhasePlay {
			return "already playing", false, nil
		}
		return doing(c), false, nil
	}
	return doing(c), true, nil
}

func pause(c control.Control, _ command.Params) (string, bool, error) {
	if !c.Pause() {
		return "already paused" + at(c), false, nil
	}
	return "paused" + at(c), true, nil
}

func toggle(c control.Control, _ command.Params) (string, bool, error) {
	if c.Toggle() {
		return "paused" + at(c), true, nil
	}
	return doing(c), true, nil
}

// isPaused answers whether play is paused: the service succeeds if it is.
func isPaused(c control.Control, _ command.Params) (string, bool, error) {
	if !c.Status().Paused {
		return "", false, command.Refused(command.NoChange, doing(c))
	}
	return "paused" + at(c), false, nil
}

// setPaused answers as rosbag play does: the service succeeds if the state has changed.
func setPaused(c control.Control, given command.Params) (string, bool, error) {
	switch paused := given.Bool("on"); {
	case paused && c.Pause():
		return "Playback is now paused", true, nil
	case paused:
		return "", false, command.Refused(command.NoChange, "Bag is already paused.")
	case c.Resume():
		return "Playback is now resumed", true, nil
	}
	return "", false, command.Refused(command.NoChange, "Bag is already running.")
}

func step(c control.Control, _ command.Params) (string, bool, error) {
	from := from(c)
	if !c.Step() {
		return "", false, cannotStep(c)
	}
	return "one message on" + from, true, nil
}

func stepBack(c control.Control, _ command.Params) (string, bool, error) {
	from := from(c)
	if !c.StepBack() {
		return "", false, cannotStep(c)
	}
	return "one message back" + from, true, nil
}

func burst(c control.Control, given command.Params) (string, bool, error) {
	n := given.Count("n")
	if !c.Burst(n) {
		return "", false, cannotStep(c)
	}
	return "burst of " + wording.Plural(n, "message"), true, nil
}

// cannotStep returns why a single message cannot be played.
func cannotStep(c control.Control) error {
	if !c.Status().Paused {
		return command.Refused(command.Conflict, "play is not paused: pause it first")
	}
	return command.Refused(command.NoChange, "there is no message to go to")
}

func stop(c control.Control, _ command.Params) (string, bool, error) {
	c.Stop()
	return "stopped" + at(c), true, nil
}

// seek seeks to a position, or by an offset from the current one.
func seek(c control.Control, given command.Params) (string, bool, error) {
	if given.Has("to") == given.Has("by") {
		return "", false, command.Refused(command.Invalid, "give to or by, in seconds")
	}
	seconds, from := given.Number("to"), time.Duration(0)
	if given.Has("by") {
		seconds, from = given.Number("by"), c.Status().Position
	}
	d, err := duration(seconds)
	if err != nil {
		return "", false, err
	}
	return goTo(c, from+d)
}

// seekFromEnds seeks to a number of seconds after the first message or, if it is negative, before
// the last one.
func seekFromEnds(c control.Control, given command.Params) (string, bool, error) {
	seconds := given.Number("to")
	to := nanoseconds(seconds)
	if seconds < 0 {
		to += c.Status().Length
	}
	return goTo(c, to)
}

// seekToTime seeks to a time in the bags.
func seekToTime(c control.Control, given command.Params) (string, bool, error) {
	s := c.Status()
	return goTo(c, s.PositionOf(given.Time("time")))
}

func goTo(c control.Control, to time.Duration) (string, bool, error) {
	to = min(max(to, 0), c.Status().Length) // as Seek does
	c.Seek(to)
	return "seek to " + precise(to) + " s", true, nil
}

func setRate(c control.Control, given command.Params) (string, bool, error) {
	rate := given.Number("rate")
	err := c.SetRate(rate)
	if bad := (*control.OptionError)(nil); errors.As(err, &bad) {
		err = errors.New("rate " + bad.Reason)
	}
	if err != nil {
		return "", false, invalid(err)
	}
	return "rate " + strconv.FormatFloat(rate, 'g', -1, 64), true, nil
}

func setLoop(c control.Control, given command.Params) (string, bool, error) {
	on := given.Bool("on")
	c.SetLoop(on)
	if !on {
		return "not looping", true, nil
	}
	s := c.Status()
	return fmt.Sprintf("looping from %s s to %s s", precise(s.LoopFrom), precise(s.LoopTo)), true, nil
}

func setLoopRange(c control.Control, given command.Params) (string, bool, error) {
	from, err := duration(given.Number("from"))
	if err != nil {
		return "", false, err
	}
	to, err := duration(given.Number("to"))
	if err != nil {
		return "", false, err
	}
	return setRange(c, from, to)
}

// loopFrom sets the start of the loop to the present position. An end before it is reset.
func loopFrom(c control.Control, _ command.Params) (string, bool, error) {
	s := c.Status()
	to := s.LoopTo
	if to <= s.Position {
		to = s.Length
	}
	return setRange(c, s.Position, to)
}

// loopTo sets the end of the loop to the present position. A start after it is reset.
func loopTo(c control.Control, _ command.Params) (string, bool, error) {
	s := c.Status()
	from := s.LoopFrom
	if from >= s.Position {
		from = 0
	}
	return setRange(c, from, s.Position)
}

func setRange(c control.Control, from, to time.Duration) (string, bool, error) {
	if err := c.SetLoopRange(from, to); err != nil {
		return "", false, invalid(err)
	}
	return fmt.Sprintf("~loop goes from %s s to %s s", precise(from), precise(to)), true, nil
}

func bookmark(c control.Control, _ command.Params) (string, bool, error) {
	at, err := c.Bookmark()
	if err != nil {
		return "", false, err
	}
	return "bookmark at " + precise(at) + " s", true, nil
}

func pauseOnTopics(c control.Control, given command.Params) (string, bool, error) {
	on := given.Bool("on")
	c.PauseOnTopics(on)
	switch now := c.Status().PauseOnTopics; {
	case now != on:
		return "", false,
			command.Refused(command.Conflict,
				"there are no topics to pause on: goplay was started without --pause-topics")
	case on:
		return "pausing before each message of --pause-topics", true, nil
	}
	return "not pausing on topics", true, nil
}

func setTopic(c control.Control, given command.Params) (string, bool, error) {
	topic, on := given.Text("topic"), given.Bool("on")
	if err := c.SetTopic(topic, on); err != nil {
		return "", false, invalid(fmt.Errorf("%w%s", err, suggestion(c, topic)))
	}
	if on {
		return topic + " is on", true, nil
	}
	return topic + " is off", true, nil
}

// suggestion returns the topics that somebody may have meant who has named an unknown one, such as the
// name in the bags of a topic that is published under another one.
func suggestion(c control.Control, topic string) string {
	var names []string
	stats := c.Stats()
	for i := range stats.Topics {
		names = append(names, stats.Topics[i].Name)
	}
	if names = wording.NearestTopics(topic, names); len(names) > 0 {
		return ": did you mean " + strings.Join(names, " or ") + "?"
	}
	return ""
}

// from returns the text for the position before a command.
func from(c control.Control) string { return " from " + precise(c.Status().Position) + " s" }

// doing returns the state and the position of play, with the text of ~status.
func doing(c control.Control) string {
	s := c.Stats()
	return state(&s)
}

// at returns the text for the present position.
func at(c control.Control) string {
	s := c.Status()
	return fmt.Sprintf(" at %s s of %s s", precise(s.Position), precise(s.Length))
}

// maxSeconds is the limit of times in requests: they must fit a Duration.
const maxSeconds = 100 * 365 * 24 * 3600

// duration converts seconds to a Duration.
func duration(seconds float64) (time.Duration, error) {
	if !(seconds >= -maxSeconds && seconds <= maxSeconds) { // also NaN
		return 0, command.Refused(command.Invalid, "a time is out of range")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// nanoseconds converts seconds to a Duration, the nearest if they are out of range.
func nanoseconds(seconds float64) time.Duration {
	const most = float64(math.MaxInt64 / 4) // sums of two are in range, too
	return time.Duration(math.Round(max(-most, min(seconds*1e9, most))))
}

func precise(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
