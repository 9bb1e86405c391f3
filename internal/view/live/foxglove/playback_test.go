package foxglove

import (
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// fakePlayback is a playback from second 10 to 20 of a bag.
type fakePlayback struct {
	store *live.Store
	lazy  bool // seeks are not followed by a jump

	unknown bool // the range is

	mu       sync.Mutex
	state    live.PlaybackState
	requests []live.PlaybackRequest
	changed  chan struct{}
}

func newPlayback() (*fakePlayback, live.Source) {
	p := &fakePlayback{state: live.PlaybackState{Status: live.Paused, Time: at(12), Speed: 1}, changed: make(chan struct{})}
	source := newSource(nil, live.Limits{})
	source.Info = func() live.Info { return live.Info{Name: "goplay", Session: "run-1", Clock: true} }
	source.Playback, p.store = p, source.Store
	return p, source
}

func (p *fakePlayback) Range() (first, last rosbag.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unknown {
		return at(0), at(0)
	}
	return at(10), at(20)
}

func (p *fakePlayback) State() live.PlaybackState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *fakePlayback) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *fakePlayback) Do(r live.PlaybackRequest) (jumps bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	if r.Seek && !p.lazy {
		p.state.Time = r.SeekTo
		p.store.Jump(r.SeekTo)
	}
	p.state.Speed = r.Speed
	p.set(map[bool]live.PlaybackStatus{true: live.Playing, false: live.Paused}[r.Play])
	return r.Seek
}

// set changes the status. Called with the lock.
func (p *fakePlayback) set(status live.PlaybackStatus) {
	p.state.Status = status
	close(p.changed)
	p.changed = make(chan struct{})
}

// state makes the hex of a playback state.
func state(status byte, sec uint32, speed float64, didSeek bool, id string) string {
	return hex.EncodeToString(appendState(nil, live.PlaybackState{Status: live.PlaybackStatus(status), Time: at(sec), Speed: speed}, didSeek, id))
}

// expectStates receives playback states until each of some was received, in this order.
func (v *viewer) expectStates(want ...string) {
	v.t.Helper()
	for _, one := range want {
		for {
			got := hex.EncodeToString(v.expectBinary(opPlaybackState))
			if got == one {
				break
			}
			v.t.Logf("another state: %s", got)
		}
	}
}

// TestPlayback checks requests, and that their answers and other changes reach all viewers.
func TestPlayback(t *testing.T) {
	t.Parallel()
	p, source := newPlayback()
	f := open(source.Store, "/a")
	_, url := serve(t, source)
	v, w := connect(t, url), connect(t, url)
	old := connect(t, url, oldProtocol)
	info := v.expect("serverInfo")
	if fmt.Sprint(info["capabilities"]) != "[time playbackControl]" || fmt.Sprint(info["dataStartTime"], info["dataEndTime"]) != "map[nsec:0 sec:10] map[nsec:0 sec:20]" {
		t.Errorf("server info %v", info)
	}
	if info := old.expect("serverInfo"); fmt.Sprint(info["capabilities"]) != "[time]" || info["dataStartTime"] != nil {
		t.Errorf("server info of the old protocol: %v", info)
	}
	v.expectStates(state(1, 12, 1, false, ""))
	w.expectStates(state(1, 12, 1, false, ""))
	if got, want := old.expectBinary(opTime), appendTime(nil, at(12)); !slices.Equal(got, want) {
		t.Errorf("the time is %x, want %x", got, want)
	}
	old.subscribe(f)
	v.subscribe(f)

	v.send(websocket.MessageBinary, unhex(t, "03 00 00000040 00 0000000000000000 02000000 6131")) // play at speed 2, id a1
	for _, one := range []*viewer{v, w} {
		one.expectStates(state(0, 12, 2, false, "a1"))
	}
	w.send(websocket.MessageBinary, unhex(t, "03 01 0000803f 01 00d6117e03000000 02000000 6232")) // seek to 15, pause, id b2
	f.Put(at(15), []byte("after"), 0)
	for _, one := range []*viewer{v, w} {
		one.expectStates(state(1, 15, 1, true, "b2"))
	}
	if got := v.expectBinary(opTime); !slices.Equal(got, appendTime(nil, at(15))) {
		t.Errorf("the time after the jump: %x", got)
	}
	if got := old.expectBinary(opTime); !slices.Equal(got, appendTime(nil, at(15))) {
		t.Errorf("the time after the jump: %x", got)
	}
	f.Put(at(16), []byte("later"), 0)
	for _, one := range []*viewer{v, old} { // nothing of playback control with the old protocol
		op, message, b := one.receive()
		for ; op == "" && b[0] != opMessageData; op, message, b = one.receive() {
			if one == old && b[0] == opPlaybackState {
				t.Errorf("a state with the old protocol: %x", b)
			}
		}
		if op != "" {
			t.Errorf("received %v", message)
		}
	}

	p.mu.Lock()
	p.set(live.Ended) // by itself
	p.mu.Unlock()
	v.expectStates(state(3, 15, 1, false, ""))
	source.Store.Jump(at(10)) // a loop
	v.expectStates(state(3, 10, 1, true, "")[:4] + state(3, 10, 1, true, "")[4:])
	old.send(websocket.MessageBinary, unhex(t, "03 00 00000040 00 0000000000000000 00000000"))
	old.expectStatus(noPlayback)
	v.send(websocket.MessageBinary, unhex(t, "03 00"))
	v.expectStatus(invalid)
	want := []live.PlaybackRequest{{Play: true, Speed: 2}, {Speed: 1, Seek: true, SeekTo: at(15)}}
	if !slices.Equal(p.requests, want) {
		t.Errorf("requests %+v, want %+v", p.requests, want)
	}
}

// TestPlaybackComesLater checks that a viewer can control playback as soon as its range is known.
func TestPlaybackComesLater(t *testing.T) {
	t.Parallel()
	p, source := newPlayback()
	p.unknown = true
	_, url := serve(t, source)
	v := connect(t, url)
	if info := v.expect("serverInfo"); fmt.Sprint(info["capabilities"]) != "[time]" {
		t.Errorf("server info %v", info)
	}
	v.send(websocket.MessageBinary, unhex(t, "03 00 00000040 00 0000000000000000 02000000 6131"))
	v.expectStatus(noPlayback)
	p.mu.Lock()
	p.unknown = false
	p.mu.Unlock()
	source.Store.Change()
	if info := v.expect("serverInfo"); fmt.Sprint(info["capabilities"]) != "[time playbackControl]" {
		t.Errorf("server info %v", info)
	}
	v.expectStates(state(1, 12, 1, false, ""))
}

// TestSeekWithoutJump checks that a seek is answered also if no jump follows, and if another seek
// follows.
func TestSeekWithoutJump(t *testing.T) {
	t.Parallel()
	p, source := newPlayback()
	p.lazy = true
	_, url := serve(t, source, func(c *timing) { c.seek = 50 * time.Millisecond })
	v := connect(t, url)
	v.send(websocket.MessageBinary, unhex(t, "03 01 0000803f 01 00d6117e03000000 02000000 6131"))
	v.send(websocket.MessageBinary, unhex(t, "03 01 0000803f 01 00d6117e03000000 02000000 6132"))
	v.expectStates(state(1, 12, 1, false, "a1"), state(1, 12, 1, false, "a2"))
}

// TestSeeksOverlap checks that the answer for a jump has the ID of the request that caused the jump, also
// for a viewer that receives it after the next request.
func TestSeeksOverlap(t *testing.T) {
	t.Parallel()
	var r seekRequest
	late := func(id string) { t.Errorf("the request %s was not answered by its jump", id) }
	r.expect("first", 0, time.Hour, late)
	if id := r.answered(1); id != "first" {
		t.Errorf("the jump is told with the ID %q", id)
	}
	r.expect("second", 1, time.Hour, late)
	if id := r.answered(1); id != "first" {
		t.Errorf("the jump is told to the next viewer with the ID %q", id)
	}
	if id := r.answered(2); id != "second" {
		t.Errorf("the second jump is told with the ID %q", id)
	}
	if r.end() {
		t.Error("the second request is still waiting")
	}
}

// TestSpeedIsKept checks that a viewer that sends back the speed that it received does not change the
// speed, also if the viewer could not set this speed.
func TestSpeedIsKept(t *testing.T) {
	t.Parallel()
	p, source := newPlayback()
	p.state.Speed = 200
	_, url := serve(t, source)
	v := connect(t, url)
	v.expectStates(state(1, 12, 200, false, ""))
	v.send(websocket.MessageBinary, unhex(t, "03 00 00004843 00 0000000000000000 02000000 6131")) // play at speed 200, id a1
	v.expectStates(state(0, 12, 200, false, "a1"))
}
