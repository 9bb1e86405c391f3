package watchers

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
)

// Each phase is reported, in order; between phases the status comes ten times a second; a slow call
// skips periodic reports.
func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []string
		var slow atomic.Bool
		w := New(func(s control.Status) {
			got = append(got, fmt.Sprintf("%v %d/%d", time.Since(start), s.Phase, s.Messages))
			if slow.Swap(false) {
				<-time.After(time.Second)
			}
		})
		reported := make(chan struct{})
		w.EnterPhase(control.Status{Phase: control.PhaseRegister})
		w.EnterPhase(control.Status{Phase: control.PhasePlay})
		messages := uint64(0)
		go func() {
			defer close(reported)
			w.Report(func() control.Status {
				messages++
				return control.Status{Phase: control.PhasePlay, Messages: messages}
			})
		}()
		<-time.After(150 * time.Millisecond)
		slow.Store(true)
		<-time.After(950 * time.Millisecond)
		w.EnterPhase(control.Status{Phase: control.PhaseDone})
		w.Finish(reported, zap.NewNop())
		<-reported
		want := "0s 0/0; 0s 3/0; 100ms 3/1; 200ms 3/2; 1.2s 6/0"
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
	})
}

// Who asks for the next change gets that, and not one before.
func TestChanged(t *testing.T) {
	t.Parallel()
	w := New(nil)
	w.Notify()
	c := w.Changed()
	select {
	case <-c:
		t.Error("told of a change from before the question")
	default:
	}
	w.Notify()
	<-c
	if w.Changed() == c {
		t.Error("the channel of the change before")
	}
	w.EnterPhase(control.Status{})
	if len(w.pending) != 0 {
		t.Error("keeps what nobody will get")
	}
}
