package rosctl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/tcpros"
)

// patience is how long a call waits for the disk. What it asked for is done
// nevertheless.
const patience = 10 * time.Second

// RecordOptions say what is put on the graph for a recorder.
type RecordOptions struct {
	Node    *tcpros.Node
	Control *recorder.Control
	Log     *zap.Logger
	Pin     time.Duration // how far back ~pin reaches
}

// recording is a recorder that is steered.
type recording struct {
	control *recorder.Control
	span    time.Duration // of ~pin
	report  recordReport
}

// ServeRecord begins to offer services and status of a recorder. Calls are refused while
// the Control has no recording.
func ServeRecord(o RecordOptions) (*Server, error) {
	r := &recording{control: o.Control, span: o.Pin, report: recordReport{name: o.Node.Name()}}
	return serve(o.Node, o.Log, r, pauseRecording)
}

// pauseRecording is the service that tells recorders of ours from other nodes.
const pauseRecording = "pause_recording"

func (r *recording) offer(s *Server) error {
	err := s.triggers(map[string]command{
		"start": bounded(r.start), "stop": bounded(r.stop), "pause": r.pause, "resume": r.resume,
		"split": bounded(r.split), "pin": bounded(r.pin), "snapshot": r.snapshot,
	})
	if err != nil {
		return err
	}
	return s.switches(map[string]func(bool) tcpros.Outcome{pauseRecording: r.setPaused})
}

func (r *recording) changed() <-chan struct{} { return r.control.Changed() }

func (r *recording) status() []byte {
	stats, err := r.control.Stats()
	return r.report.status(stats, err)
}

// bounded gives a command patience.
func bounded(do command) command {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		said, err := do(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("not done within %v: it will be, behind the messages that wait for the disk", patience)
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
	case before.State == recorder.StatePaused:
		return "already started, and paused: ~resume goes on" + to(file), nil
	case before.State == recorder.StateRecording:
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
	case before.State == recorder.StateStopped:
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
	if before.State == recorder.StatePaused {
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
	if before.State == recorder.StateRecording {
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

// snapshot waits without a limit of its own: the post-roll takes as long as the user
// wants it to.
func (r *recording) snapshot(ctx context.Context) (string, error) {
	file, err := r.control.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	return "wrote " + file, nil
}

// list puts names behind each other, the directory once.
func list(files []string) string {
	dir, _ := filepath.Split(files[0])
	all := make([]string, len(files))
	for i, file := range files {
		all[i] = strings.TrimPrefix(file, dir)
	}
	return dir + strings.Join(all, " ")
}

// to names the file that is recorded to. Where only snapshots are written there is none.
func to(file string) string {
	if file == "" {
		return ""
	}
	return " to " + file
}

// setPaused answers as ~pause_playback of rosbag play does: success says that there was
// something to change.
func (r *recording) setPaused(paused bool) tcpros.Outcome {
	do, want := r.control.Resume, recorder.StateRecording
	changed, same := "Recording is now resumed", "Recording is already running."
	if paused {
		do, want = r.control.Pause, recorder.StatePaused
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
