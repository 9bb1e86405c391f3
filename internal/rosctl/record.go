package rosctl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// actionTimeout is how long a call waits for the disk. The command is executed even if the
// call times out.
const actionTimeout = 10 * time.Second

// RecordOptions are the options of ServeRecord.
type RecordOptions struct {
	Node    *tcpros.Node
	Control control.Recording
	Log     *zap.Logger
	Pin     time.Duration // how far back ~pin reaches
}

// recording controls a recorder.
type recording struct {
	control control.Recording
	span    time.Duration // of ~pin
	report  recordReport
}

// ServeRecord starts the services and the status topic of a recorder. Calls are refused while
// the Control has no recording.
func ServeRecord(o RecordOptions) (*Server, error) {
	r := &recording{control: o.Control, span: o.Pin, report: recordReport{name: o.Node.Name()}}
	return serve(o.Node, o.Log, r, pauseRecording)
}

// pauseRecording is a service of every gorecord. Clients recognize recorders by it.
const pauseRecording = "pause_recording"

func (r *recording) offer(s *Server) error {
	err := s.triggers(map[string]command{
		"start": bounded(r.start), "stop": bounded(r.stop), "pause": r.pause, "resume": r.resume,
		"split": bounded(r.split), "pin": bounded(r.pin), "snapshot": r.snapshot, "mark": r.mark,
	})
	if err != nil {
		return err
	}
	if err := s.switches(map[string]func(bool) tcpros.Outcome{pauseRecording: r.setPaused}); err != nil {
		return err
	}
	return s.commandTopics([]commandTopic{{"mark", bagnote.Type, bagnote.MD5Sum, anySize, r.markText}})
}

func (r *recording) changed() <-chan struct{} { return r.control.Changed() }

func (r *recording) status() []byte {
	stats, err := r.control.Stats()
	return r.report.status(stats, err)
}

// bounded applies actionTimeout to a command.
func bounded(do command) command {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, actionTimeout)
		defer cancel()
		said, err := do(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("not done within %v: it will be, behind the messages that wait for the disk", actionTimeout)
		}
		return said, err
	}
}

func (r *recording) start(ctx context.Context) (string, error) {
	before, err := r.control.Stats()
	if err != nil {
		return "", err
	}
	file, err := r.control.Start(ctx)
	switch {
	case err != nil:
		return "", err
	case before.State == control.StatePaused:
		return "already started, and paused: ~resume goes on" + to(file), nil
	case before.State == control.StateRecording:
		return "already recording" + to(file), nil
	}
	return "recording" + to(file), nil
}

func (r *recording) stop(ctx context.Context) (string, error) {
	before, err := r.control.Stats()
	if err != nil {
		return "", err
	}
	file, err := r.control.Stop(ctx)
	switch {
	case err != nil:
		return "", err
	case file != "":
		return "closed " + file, nil
	case before.State == control.StateStopped:
		return "already stopped", nil
	}
	return "stopped", nil // only snapshots are written
}

func (r *recording) pause(context.Context) (string, error) {
	before, err := r.control.Stats()
	if err != nil {
		return "", err
	}
	if err := r.control.Pause(); err != nil {
		return "", err
	}
	if before.State == control.StatePaused {
		return "already paused", nil
	}
	return "paused recording" + to(before.File), nil
}

func (r *recording) resume(context.Context) (string, error) {
	before, err := r.control.Stats()
	if err != nil {
		return "", err
	}
	if err := r.control.Resume(); err != nil {
		return "", err
	}
	if before.State == control.StateRecording {
		return "already recording" + to(before.File), nil
	}
	return "recording" + to(before.File), nil
}

func (r *recording) split(ctx context.Context) (string, error) {
	closed, err := r.control.Split(ctx)
	if err != nil {
		return "", err
	}
	now, err := r.control.Stats()
	if err != nil {
		return "", err
	}
	return "closed " + closed + ", recording" + to(now.File), nil
}

func (r *recording) pin(ctx context.Context) (string, error) {
	files, err := r.control.Pin(ctx, r.span)
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return fmt.Sprintf("no file holds anything of the last %v", r.span), nil
	}
	return fmt.Sprintf("of the last %v, will not be deleted: %s", r.span, list(files)), nil
}

// snapshot has no timeout of its own: the user decides how long the post-roll takes.
func (r *recording) snapshot(ctx context.Context) (string, error) {
	file, err := r.control.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	return "wrote " + file, nil
}

// mark writes a mark that the recorder names: no service of std_srvs takes a text.
func (r *recording) mark(context.Context) (string, error) { return r.write("") }

// markText writes a mark with the text of a std_msgs/String.
func (r *recording) markText(payload []byte) (string, error) {
	text, ok := bagnote.Decode(payload)
	if !ok {
		return "", errors.New("not a " + bagnote.Type)
	}
	if text == "" {
		return "", bagnote.ErrMark
	}
	return r.write(text)
}

func (r *recording) write(text string) (string, error) {
	m, err := r.control.Mark(text)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("marked %q", m.Text), nil
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

// to returns the text for the file that is being recorded; empty if only snapshots are written.
func to(file string) string {
	if file == "" {
		return ""
	}
	return " to " + file
}

// setPaused answers as ~pause_playback of rosbag play does: success reports that the state
// has changed.
func (r *recording) setPaused(paused bool) tcpros.Outcome {
	do, want := r.control.Resume, control.StateRecording
	changed, same := "Recording is now resumed", "Recording is already running."
	if paused {
		do, want = r.control.Pause, control.StatePaused
		changed, same = "Recording is now paused", "Recording is already paused."
	}
	before, err := r.control.Stats()
	if err == nil {
		err = do()
	}
	o := tcpros.Outcome{Success: err == nil && before.State != want, Message: changed}
	switch {
	case err != nil:
		o.Message = err.Error()
	case !o.Success:
		o.Message = same
	}
	return o
}
