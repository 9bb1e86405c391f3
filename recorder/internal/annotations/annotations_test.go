package annotations_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recording is an intake and what the recorder writes into it.
type recording struct {
	*annotations.Writer
	in *intake.Intake
}

func newRecording(begin control.State, log *zap.Logger) recording {
	in := intake.New(intake.Config{
		Log: log, Node: "/rec", Flush: time.Hour, Begin: begin, Encoder: encode.New(encode.Options{}), OnChange: func() {},
		Memory: memory.Options{Limit: 64 << 20, ChunkBytes: 768 << 10},
	})
	return recording{annotations.New(in, log), in}
}

// recorded ends the recording and returns the texts of each topic, and the topics that are latched.
func (r recording) recorded(t *testing.T) (texts map[string][]string, latched []string) {
	t.Helper()
	r.in.Close()
	texts = map[string][]string{}
	for {
		item, ok := r.in.Next()
		switch {
		case !ok:
			slices.Sort(latched)
			return texts, slices.Compact(latched)
		case item.Chunk == nil:
			continue
		}
		item.Chunk.Seal(nil)
		for m, err := range item.Chunk.Sealed().Messages() {
			if err != nil {
				t.Fatal(err)
			}
			texts[m.Conn.Topic] = append(texts[m.Conn.Topic], string(m.Data()[4:]))
			if m.Conn.Header.Latching() {
				latched = append(latched, m.Conn.Topic)
			}
			if m.Conn.Header.Type() != note.Type {
				t.Errorf("%s has messages of type %s", m.Conn.Topic, m.Conn.Header.Type())
			}
		}
	}
}

// TestNotes: all notes are one latched message, and none are no message.
func TestNotes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		notes []note.Note
		want  map[string][]string
	}{
		"none": {nil, map[string][]string{}},
		"two":  {[]note.Note{{Key: "robot", Value: "r1"}, {Key: "site", Value: "hall: 3"}}, map[string][]string{note.NotesTopic: {"robot: r1\nsite: hall: 3\n"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecording(control.StateRecording, zap.NewNop())
			r.Notes(test.notes)
			texts, latched := r.recorded(t)
			if d := cmp.Diff(test.want, texts); d != "" || len(latched) != len(test.want) {
				t.Errorf("latched %v; %s", latched, d)
			}
		})
	}
}

// TestMark: a mark without a text has a number, the log says what was marked, and a mark that is not in the
// bag takes no number.
func TestMark(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	r := newRecording(control.StateRecording, zap.New(core))
	for _, step := range []struct {
		text, want string
		err        error
	}{{" door opened ", "door opened", nil}, {"a\nb", "", note.ErrMark}, {"", "mark 2", nil}} {
		m, err := r.Mark(step.text, time.Now())
		if !errors.Is(err, step.err) || m.Text != step.want {
			t.Errorf("%q: %+v, %v", step.text, m, err)
		}
	}
	if err := r.in.Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Mark("", time.Now()); !errors.Is(err, control.ErrPaused) {
		t.Errorf("paused: %v", err)
	}
	var said []string
	for _, e := range logs.All() {
		said = append(said, e.ContextMap()["text"].(string))
	}
	want := []string{"door opened", "mark 2"}
	if d := cmp.Diff(want, said); d != "" {
		t.Error(d)
	}
	texts, latched := r.recorded(t)
	if d := cmp.Diff(map[string][]string{note.MarksTopic: want}, texts); d != "" || len(latched) != 0 {
		t.Errorf("latched %v; %s", latched, d)
	}
}

// TestFindingMark: a mark that nobody asked for is in the bag, is not logged, and takes no number.
func TestFindingMark(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	r := newRecording(control.StateRecording, zap.New(core))
	r.FindingMark("silent /imu", time.Now())
	if m, err := r.Mark("", time.Now()); err != nil || m.Text != "mark 1" || logs.Len() != 1 {
		t.Errorf("%+v, %v; %d lines", m, err, logs.Len())
	}
	texts, _ := r.recorded(t)
	if d := cmp.Diff(map[string][]string{note.MarksTopic: {"silent /imu", "mark 1"}}, texts); d != "" {
		t.Error(d)
	}
}

// TestFindingMarkBesideOneThatWaits: a mark that nobody asked for does not wait behind one that waits for room.
func TestFindingMarkBesideOneThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := intake.New(intake.Config{
			Log: zap.NewNop(), Node: "/rec", Flush: time.Hour, Encoder: encode.New(encode.Options{}), OnChange: func() {},
			Memory: memory.Options{Limit: 1 << 20, ChunkBytes: 100_000, Blocks: true},
		})
		w := annotations.New(in, zap.NewNop())
		const asked = 20_000
		var asking sync.WaitGroup
		asking.Go(func() {
			for range asked { // no sink makes room
				if _, err := w.Mark("door opened", time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
		synctest.Wait()
		before := in.Stats(time.Now()).Topics[0]
		w.FindingMark("silent /imu", time.Now())
		after := in.Stats(time.Now()).Topics[0]
		if before.Messages == 0 || before.Messages == asked || after.Messages != before.Messages || after.Dropped > 0 {
			t.Errorf("%d marks, then %d; %d lost", before.Messages, after.Messages, after.Dropped)
		}
		in.UnblockLinks()
		asking.Wait()
		in.Close()
	})
}

// TestNoMarksTopicWithoutAMark: a bag without marks does not have their topic.
func TestNoMarksTopicWithoutAMark(t *testing.T) {
	t.Parallel()
	r := newRecording(control.StatePaused, zap.NewNop())
	if _, err := r.Mark("x", time.Now()); !errors.Is(err, control.ErrPaused) {
		t.Errorf("paused: %v", err)
	}
	if topics := r.in.Accounts.Summary(time.Now()).Topics; len(topics) != 0 {
		t.Errorf("topics: %+v", topics)
	}
}

// TestStore: a value is one latched JSON text, however long, also with numbers that JSON does not have.
func TestStore(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<x>", 100_000) // goes past the open chunk
	core, logs := observer.New(zap.WarnLevel)
	r := newRecording(control.StateRecording, zap.New(core))
	for topic, value := range map[string]any{
		"/small": map[string]any{"n": []any{1, math.NaN(), math.Inf(-1)}, "s": "a \"b\""},
		"/long":  long,
		"/huge":  string(bytes.Repeat([]byte("x"), annotations.MaxStored)),
	} {
		r.Store(t.Context(), topic, func() (any, error) { return value, nil })
	}
	if all := logs.All(); len(all) != 1 || all[0].ContextMap()["topic"] != "/huge" {
		t.Errorf("logged: %v", all)
	}
	for _, topic := range r.in.Accounts.Summary(time.Now()).Topics {
		if lost := topic.Dropped["oversize"]; lost != 0 != (topic.Topic == "/huge") {
			t.Errorf("%s: %d messages lost", topic.Topic, lost)
		}
	}
	texts, latched := r.recorded(t)
	want := map[string][]string{"/small": {`{"n":[1,"NaN","-Inf"],"s":"a \"b\""}`}, "/long": {`"` + long + `"`}}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"/long", "/small"}, latched); d != "" {
		t.Error(d)
	}
}

// TestStoreAsksAgain: a master that is away is asked each second, and named once, until it answers or the
// recording ends.
func TestStoreAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		r := newRecording(control.StateRecording, zap.New(core))
		begun, tries := time.Now(), 0
		r.Store(t.Context(), "/late", func() (any, error) {
			if tries++; tries < 4 {
				return nil, errors.New("away")
			}
			return "there", nil
		})
		if took := time.Since(begun); took != 3*time.Second || logs.Len() != 1 {
			t.Errorf("after %v, logged: %v", took, logs.All())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r.Store(ctx, "/never", func() (any, error) { return nil, errors.New("away") })
		texts, _ := r.recorded(t)
		if d := cmp.Diff(map[string][]string{"/late": {`"there"`}}, texts); d != "" {
			t.Error(d)
		}
	})
}
