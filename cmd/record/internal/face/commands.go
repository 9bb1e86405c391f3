package face

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// pauseRecording is a service of every gorecord. Clients recognize recorders by it.
const pauseRecording = "pause_recording"

// Commands returns the commands that steer a recording.
func (f *Face) Commands() []command.Command {
	return []command.Command{
		{Service: "pause", HTTP: "pause", Do: order(f.pause)},
		{Service: "resume", HTTP: "resume", Do: order(f.resume)},
		{
			Service: pauseRecording, Params: []command.Param{{Name: "on", Kind: command.Bool}},
			Do: order(f.setPaused),
		},
		{Service: "start", HTTP: "start", Do: order(f.start)},
		{Service: "stop", HTTP: "stop", Do: order(f.stop)},
		{Service: "split", HTTP: "split", Do: order(f.split)},
		// the user has chosen how long the post-roll takes
		{Service: "snapshot", HTTP: "snapshot", Patient: true, Do: order(f.snapshot)},
		{
			Service: "pin", HTTP: "pin", Params: []command.Param{{Name: "seconds", Kind: command.Number}},
			Do: order(f.pinBags),
		},
		{
			Service: "mark", HTTP: "mark", Params: []command.Param{{Name: "text", Kind: command.Text}},
			Do: order(f.mark),
		},
		{Topic: "mark", Params: []command.Param{{Name: "text", Kind: command.Text}}, Do: order(f.markText)},
	}
}

// order gives a kind to the errors of a command.
func order(
	do func(context.Context, command.Params) (command.Result, error),
) func(context.Context, command.Params) (command.Result, error) {
	return func(ctx context.Context, given command.Params) (command.Result, error) {
		result, err := do(ctx, given)
		return result, refusal(err)
	}
}

// refusals are the kinds of the errors of a recording.
var refusals = map[error]command.Kind{
	control.ErrNotRecording:   command.Unavailable,
	control.ErrNoRoom:         command.Unavailable,
	control.ErrSplitsTooOften: command.Unavailable,
	control.ErrStopped:        command.Conflict,
	control.ErrPaused:         command.Conflict,
	control.ErrNoSnapshots:    command.Conflict,
	control.ErrOnlySnapshots:  command.Conflict,
	control.ErrNoBag:          command.NotFound,
	note.ErrMark:              command.Invalid,
}

// refusal gives its kind to an error of a recording.
func refusal(err error) error {
	for known, kind := range refusals {
		if errors.Is(err, known) {
			return command.Refuse(kind, err)
		}
	}
	return err
}

// said returns a result whose text names files; format has one %s for each file.
func said(format string, files ...string) command.Result {
	full, brief := make([]any, len(files)), make([]any, len(files))
	for i, file := range files {
		full[i], brief[i] = file, base(file)
	}
	return command.Result{Text: fmt.Sprintf(format, full...), Brief: fmt.Sprintf(format, brief...)}
}

// about adds the name of a file for programs, if there is one.
func about(r command.Result, file string) command.Result {
	if file != "" {
		r.Fields = append(r.Fields, command.Field{Name: "file", Value: base(file)})
	}
	return r
}

// into returns a result whose text ends with the name of the file that is recorded to. Without a
// file, as when only snapshots are written, the text stands alone.
func into(text, file string) command.Result {
	if file == "" {
		return said(text)
	}
	return said(text+" to %s", file)
}

func (f *Face) start(ctx context.Context, _ command.Params) (command.Result, error) {
	before, err := f.control.Stats()
	if err != nil {
		return command.Result{}, err
	}
	file, err := f.control.Start(ctx)
	if err != nil {
		return command.Result{}, err
	}
	text := "recording"
	switch before.State {
	case control.StatePaused:
		text = "already started, and paused: ~resume continues the recording"
	case control.StateRecording:
		text = "already recording"
	case control.StateStopped:
	}
	return about(into(text, file), file), nil
}

func (f *Face) stop(ctx context.Context, _ command.Params) (command.Result, error) {
	before, err := f.control.Stats()
	if err != nil {
		return command.Result{}, err
	}
	file, err := f.control.Stop(ctx)
	switch {
	case err != nil:
		return command.Result{}, err
	case file != "":
		return about(said("closed %s", file), file), nil
	case before.State == control.StateStopped:
		return said("already stopped"), nil
	}
	return said("stopped"), nil // only snapshots are written
}

func (f *Face) pause(context.Context, command.Params) (command.Result, error) {
	before, err := f.control.Stats()
	if err != nil {
		return command.Result{}, err
	}
	if err := f.control.Pause(); err != nil {
		return command.Result{}, err
	}
	if before.State == control.StatePaused {
		return said("already paused"), nil
	}
	return into("paused recording", before.File), nil
}

func (f *Face) resume(context.Context, command.Params) (command.Result, error) {
	before, err := f.control.Stats()
	if err != nil {
		return command.Result{}, err
	}
	if err := f.control.Resume(); err != nil {
		return command.Result{}, err
	}
	if before.State == control.StateRecording {
		return into("already recording", before.File), nil
	}
	return into("recording", before.File), nil
}

// setPaused answers as ~pause_playback of rosbag play does: the service succeeds if the state has
// changed.
func (f *Face) setPaused(_ context.Context, given command.Params) (command.Result, error) {
	do, want := f.control.Resume, control.StateRecording
	changed, same := "Recording is now resumed", "Recording is already running."
	if given.Bool("on") {
		do, want = f.control.Pause, control.StatePaused
		changed, same = "Recording is now paused", "Recording is already paused."
	}
	before, err := f.control.Stats()
	if err == nil {
		err = do()
	}
	switch {
	case err != nil:
		return command.Result{}, err
	case before.State == want:
		return command.Result{}, command.Refused(command.NoChange, same)
	}
	return said(changed), nil
}

func (f *Face) split(ctx context.Context, _ command.Params) (command.Result, error) {
	closed, err := f.control.Split(ctx)
	if err != nil {
		return command.Result{}, err
	}
	now, err := f.control.Stats()
	switch {
	case err != nil:
		return about(said("closed %s", closed), closed), nil //nolint:nilerr // the bag is split, and the recording has ended since
	case now.File == "":
		return about(said("closed %s, recording", closed), closed), nil
	}
	return about(said("closed %s, recording to %s", closed, now.File), closed), nil
}

func (f *Face) snapshot(ctx context.Context, _ command.Params) (command.Result, error) {
	file, err := f.control.Snapshot(ctx)
	if err != nil {
		return command.Result{}, err
	}
	return about(said("wrote %s", file), file), nil
}

// maxSeconds is the limit of times in requests: they must fit a Duration.
const maxSeconds = 100 * 365 * 24 * 3600

// pinBags protects the bags of the last number of seconds; without a number, the bags of --pin.
func (f *Face) pinBags(ctx context.Context, given command.Params) (command.Result, error) {
	last := f.pin
	if given.Has("seconds") {
		seconds := given.Number("seconds")
		switch {
		case seconds < 0:
			return command.Result{}, command.Refused(command.Invalid, "seconds must be 0 or positive")
		case seconds > maxSeconds:
			return command.Result{}, command.Refused(command.Invalid, "a time is out of range")
		}
		last = time.Duration(seconds * float64(time.Second))
	}
	files, err := f.control.Pin(ctx, last)
	if err != nil {
		return command.Result{}, err
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = base(file)
	}
	fields := []command.Field{{Name: "files", Value: names}}
	if len(files) == 0 {
		return command.Result{Text: fmt.Sprintf("no bag has messages of the last %v", last), Fields: fields}, nil
	}
	text := fmt.Sprintf("bags of the last %v are protected from deletion: ", last)
	return command.Result{Text: text + list(files), Brief: text + strings.Join(names, " "), Fields: fields}, nil
}

// list joins file names, with the directory only once.
func list(files []string) string {
	dir, _ := filepath.Split(files[0])
	all := make([]string, len(files))
	for i, file := range files {
		all[i] = strings.TrimPrefix(file, dir)
	}
	return dir + strings.Join(all, " ")
}

// mark writes a mark. Without a text the recorder names the mark: no service of std_srvs takes a
// text.
func (f *Face) mark(_ context.Context, given command.Params) (command.Result, error) {
	m, err := f.control.Mark(given.Text("text"))
	if err != nil {
		return command.Result{}, err
	}
	return command.Result{Text: fmt.Sprintf("marked %q", m.Text), Fields: []command.Field{
		{Name: "text", Value: m.Text},
		// seconds since 1970, by the clock of the recording
		{Name: "time", Value: float64(m.Time.UnixMilli()) / 1e3},
	}}, nil
}

// markText writes a mark with a text.
func (f *Face) markText(ctx context.Context, given command.Params) (command.Result, error) {
	if given.Text("text") == "" {
		return command.Result{}, note.ErrMark
	}
	return f.mark(ctx, given)
}
