// Package rosctl puts the control of a recording on the ROS graph: services under the
// node's name, and its status on a latched topic.
package rosctl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/tcpros"
)

// patience is how long a call waits for the disk. What it asked for is done
// nevertheless.
const patience = 10 * time.Second

// Options say what is put on the graph.
type Options struct {
	Node    *tcpros.Node
	Control *recorder.Control
	Log     *zap.Logger
	Pin     time.Duration // how far back ~pin reaches
}

// Server answers for a recording.
type Server struct {
	Options
	end  context.CancelFunc
	done sync.WaitGroup
}

// Serve begins to offer services and status. Calls are refused while the Control has
// no recording.
func Serve(o Options) (*Server, error) {
	status, err := o.Node.Advertise(tcpros.AdvertiseOptions{
		Topic:             "~status",
		Type:              tcpros.DiagnosticArrayType,
		MD5Sum:            tcpros.DiagnosticArrayMD5Sum,
		MessageDefinition: tcpros.DiagnosticArrayDefinition,
		Latching:          true,
		QueueFrames:       1, // whoever is slow wants the latest
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{Options: o, end: cancel}
	if err := s.offer(); err != nil {
		cancel()
		return nil, err
	}
	// owner: Close; ends with ctx.
	s.done.Go(func() { s.tell(ctx, status.Source(true)) })
	return s, nil
}

// Close publishes the last status. Services and topic end with the node.
func (s *Server) Close() {
	s.end()
	s.done.Wait()
}

// command does something to the recording and says what was done.
type command func(context.Context) (said string, err error)

func (s *Server) offer() error {
	commands := map[string]command{
		"start": s.start, "stop": s.stop, "pause": s.pause, "resume": s.resume, "split": s.split, "pin": s.pin, "snapshot": s.snapshot,
	}
	for name, do := range commands {
		err := s.advertise(name, tcpros.TriggerService, func(ctx context.Context, _ []byte) ([]byte, error) {
			return s.carryOut(ctx, name, do).Encode(), nil
		})
		if err != nil {
			return err
		}
	}
	return s.advertise("pause_recording", tcpros.SetBoolService, func(_ context.Context, request []byte) ([]byte, error) {
		paused, err := tcpros.DecodeBool(request)
		if err != nil {
			return nil, err
		}
		return s.setPaused(paused).Encode(), nil
	})
}

func (s *Server) advertise(name string, t tcpros.ServiceType, handle tcpros.ServiceHandler) error {
	_, err := s.Node.AdvertiseService(tcpros.ServiceOptions{Name: "~" + name, Type: t, Handle: handle})
	return err
}

// carryOut makes an answer of what a command says.
func (s *Server) carryOut(ctx context.Context, name string, do command) tcpros.Outcome {
	said, err := do(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		said = fmt.Sprintf("not done within %v: it will be, behind the messages that wait for the disk", patience)
	case err != nil:
		said = err.Error()
	}
	s.Log.Info("service call", zap.String("service", "~"+name), zap.Bool("success", err == nil), zap.String("answer", said))
	return tcpros.Outcome{Success: err == nil, Message: said}
}

func (s *Server) start(ctx context.Context) (string, error) {
	before, err := s.Control.Stats()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	file, err := s.Control.Start(ctx)
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

func (s *Server) stop(ctx context.Context) (string, error) {
	before, err := s.Control.Stats()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	file, err := s.Control.Stop(ctx)
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

func (s *Server) pause(context.Context) (string, error) {
	before, err := s.Control.Stats()
	if err != nil {
		return "", err
	}
	if err := s.Control.Pause(); err != nil {
		return "", err
	}
	if before.State == recorder.StatePaused {
		return "already paused", nil
	}
	return "paused recording" + to(before.File), nil
}

func (s *Server) resume(context.Context) (string, error) {
	before, err := s.Control.Stats()
	if err != nil {
		return "", err
	}
	if err := s.Control.Resume(); err != nil {
		return "", err
	}
	if before.State == recorder.StateRecording {
		return "already recording" + to(before.File), nil
	}
	return "recording" + to(before.File), nil
}

func (s *Server) split(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	closed, err := s.Control.Split(ctx)
	if err != nil {
		return "", err
	}
	now, err := s.Control.Stats()
	if err != nil {
		return "", err
	}
	return "closed " + closed + ", recording" + to(now.File), nil
}

func (s *Server) pin(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	files, err := s.Control.Pin(ctx, s.Pin)
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return fmt.Sprintf("no file holds anything of the last %v", s.Pin), nil
	}
	return fmt.Sprintf("of the last %v, will not be deleted: %s", s.Pin, list(files)), nil
}

// snapshot waits without a limit of its own: the post-roll takes as long as the user
// wants it to.
func (s *Server) snapshot(ctx context.Context) (string, error) {
	file, err := s.Control.Snapshot(ctx)
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
func (s *Server) setPaused(paused bool) tcpros.Outcome {
	do, want := s.Control.Resume, recorder.StateRecording
	changed, same := "Recording is now resumed", "Recording is already running."
	if paused {
		do, want = s.Control.Pause, recorder.StatePaused
		changed, same = "Recording is now paused", "Recording is already paused."
	}
	before, err := s.Control.Stats()
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
	s.Log.Info("service call", zap.String("service", "~pause_recording"), zap.Bool("success", o.Success), zap.String("answer", o.Message))
	return o
}
