package face_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// fakeRecording is a control.Recording that remembers what it was told.
type fakeRecording struct {
	mu    sync.Mutex
	stats control.Stats
	bags  []control.Bag
	calls []string
	err   error // of all commands but Stats; nil lets them succeed
	parts int   // bags that were begun
	marks int
}

// recordingTo returns the face of a recording to /bags/a_0.bag, which has received topics, and pins 5 minutes.
func recordingTo(topics ...control.TopicStats) (*face.Face, *fakeRecording) {
	f := &fakeRecording{stats: control.Stats{
		Taken: time.Unix(1_748_682_000, 0), File: "/bags/a_0.bag", FileBytes: 4096, Bytes: 4096, BufferMost: -1, DiskFree: -1, TimeLeft: -1, Topics: topics,
	}}
	return face.New(f, 5*time.Minute), f
}

// change changes the account of the recording.
func (f *fakeRecording) change(change func(*control.Stats)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.stats)
}

// fail makes commands fail; nil lets them succeed.
func (f *fakeRecording) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// said returns the calls so far.
func (f *fakeRecording) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// did notes a call. Unless it fails, the call changes the account.
func (f *fakeRecording) did(call string, change func(*control.Stats)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	if f.err == nil && change != nil {
		change(&f.stats)
	}
	return f.err
}

// enter changes the state unless there is no bag.
func (f *fakeRecording) enter(call string, state control.State) error {
	if s, _ := f.Stats(); s.State == control.StateStopped {
		return control.ErrStopped
	}
	return f.did(call, func(s *control.Stats) { s.State = state })
}

func (f *fakeRecording) Pause() error  { return f.enter("pause", control.StatePaused) }
func (f *fakeRecording) Resume() error { return f.enter("resume", control.StateRecording) }

func (f *fakeRecording) Start(context.Context) (opened string, err error) {
	err = f.did("start", func(s *control.Stats) {
		if s.State == control.StateStopped {
			f.parts++
			s.State, s.File = control.StateRecording, fmt.Sprintf("/bags/a_%d.bag", f.parts)
		}
		opened = s.File
	})
	return opened, err
}

func (f *fakeRecording) Stop(context.Context) (closed string, err error) {
	err = f.did("stop", func(s *control.Stats) {
		closed = s.File
		s.State, s.File = control.StateStopped, ""
	})
	return closed, err
}

func (f *fakeRecording) Split(context.Context) (closed string, err error) {
	err = f.did("split", func(s *control.Stats) {
		f.parts++
		closed, s.File = s.File, fmt.Sprintf("/bags/a_%d.bag", f.parts)
	})
	return closed, err
}

func (f *fakeRecording) Snapshot(context.Context) (string, error) {
	return "/bags/snapshot.bag", f.did("snapshot", nil)
}

func (f *fakeRecording) BeginSnapshot(context.Context, time.Time) error { return f.did("begin", nil) }

func (f *fakeRecording) Pin(_ context.Context, last time.Duration) (files []string, err error) {
	if last > 0 {
		files = []string{"/bags/a_0.bag", "/bags/a_1.bag"}
	}
	return files, f.did(fmt.Sprint("pin ", last), nil)
}

func (f *fakeRecording) Mark(text string) (control.Mark, error) {
	err := f.did("mark "+text, func(*control.Stats) {
		if text == "" {
			f.marks++
			text = fmt.Sprint("mark ", f.marks)
		}
	})
	return control.Mark{Time: time.UnixMilli(1_748_682_000_250), Text: text}, err
}

func (f *fakeRecording) MarkAt(text string, _ time.Time) (control.Mark, error) { return f.Mark(text) }

func (f *fakeRecording) Stats() (control.Stats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Topics = slices.Clone(s.Topics)
	return s, nil
}

func (f *fakeRecording) Changed() <-chan struct{} { return nil }

func (f *fakeRecording) Bags() ([]control.Bag, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bags, f.err
}

func (f *fakeRecording) OpenBag(id int) (*os.File, control.Bag, error) {
	for _, b := range f.bags {
		if b.ID == id && !b.Deleted {
			file, err := os.Open(b.Name)
			return file, b, err
		}
	}
	return nil, control.Bag{}, control.ErrNoBag
}
