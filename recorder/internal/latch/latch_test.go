package latch

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// chunkBytes is the size of a shared chunk in tests.
const chunkBytes = 100

// world is a store with the memory that it counts in, and what became of its chunks.
type world struct {
	*Store
	mem   *memory.Memory
	freed []*Chunk // in the order in which they were freed
}

// newWorld returns an empty store in a buffer of so many bytes, negative for no limit.
func newWorld(limit int64) *world {
	mem := memory.New(memory.Options{Limit: limit, ChunkBytes: chunkBytes})
	w := &world{mem: mem}
	store := New(mem, false, func(c *Chunk) {
		w.freed = append(w.freed, c)
		mem.Unuse(c.weight)
	})
	w.Store = &store
	return w
}

// source returns a latching connection of a publisher on /map.
func source(id rosbag.ConnID, publisher string) *Source {
	header := rosbag.Header{{Key: "callerid", Value: publisher}}
	return &Source{conn: &rosbag.Connection{ID: id, Topic: "/map", Header: header}, latching: true}
}

// frame returns a frame with so many bytes of payload, all of one value.
func frame(payload int, value byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(payload)), bytes.Repeat([]byte{value}, payload)...)
}

// check checks what the memory counts in all, and of that for latched messages.
func (w *world) check(t *testing.T, what string, held, latched int64) {
	t.Helper()
	if w.mem.Usage().Held != held || w.mem.Usage().Latched != latched {
		t.Errorf("%s: %d bytes held, %d for latched messages; want %d and %d", what, w.mem.Usage().Held, w.mem.Usage().Latched, held, latched)
	}
}

// TestMemoryForLatchedMessages: latched messages may have half of what a shared chunk leaves, counted with
// their copies, and give all back.
func TestMemoryForLatchedMessages(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	const half = (limit - chunkBytes) / 2
	for name, tc := range map[string]struct {
		limit, others int64 // others are bytes that are in use
		bytes         int
		want          bool
	}{
		"all that there may be": {limit, 0, half / 2, true},
		"a byte more":           {limit, 0, half/2 + 1, false},
		"a buffer with room":    {limit, limit - 200, 100, true},
		"a full buffer":         {limit, limit - 199, 100, false},
		"no limit":              {-1, 0, 1 << 20, true},
	} {
		w, c := newWorld(tc.limit), source(0, "/a")
		w.mem.Use(tc.others)
		w.Remember(c, make([]byte, tc.bytes))
		if (c.last != nil) != tc.want || w.Holds(c) != tc.want {
			t.Errorf("%s: the message is remembered: %v, want %v", name, c.last != nil, tc.want)
		}
		counted := int64(0)
		if tc.want {
			counted = 2 * int64(tc.bytes)
		}
		w.check(t, name, tc.others+counted, counted)
		if short := w.TakeShortage(); (short.Topic == "/map") == tc.want || short.Text == "" != tc.want || w.TakeShortage() != (Shortage{}) {
			t.Errorf("%s: told: %+v", name, short)
		}
		w.Forget(c)
		if w.check(t, name+", forgotten", tc.others, 0); c.last != nil {
			t.Errorf("%s: still there", name)
		}
	}
}

// TestLatestMessageTakesThePlace of the one before if it is not longer and nobody else has that. Otherwise
// the message before stays as it is until the last holder has released it.
func TestLatestMessageTakesThePlace(t *testing.T) {
	t.Parallel()
	w, c := newWorld(10_000), source(0, "/a")
	w.Remember(c, []byte("first one"))
	w.Remember(c, []byte("second"))
	if w.check(t, "in place", 18, 18); string(c.last.frame) != "second" {
		t.Errorf("%q is remembered", c.last.frame)
	}
	one, _ := w.AtFile([]*Source{c}, false)
	two, _ := w.AtFile([]*Source{c}, false)
	w.Remember(c, []byte("third"))
	if w.check(t, "beside", 18+10, 18+10); string(one[0].frame) != "second" || string(c.last.frame) != "third" {
		t.Errorf("the file begins with %q, the next with %q", one[0].frame, c.last.frame)
	}
	w.Release(one)
	w.check(t, "one writer has read it", 28, 28)
	w.Release(two)
	w.check(t, "both have", 10, 10)
	again, _ := w.AtFile([]*Source{c}, false)
	w.Release(again)
	if w.check(t, "the latest was read", 10, 10); string(c.last.frame) != "third" {
		t.Errorf("%q is left", c.last.frame)
	}
	w.Remember(c, []byte("a longer one"))
	w.check(t, "longer", 24, 24)
}

// TestSameLengthAllocatesNothing: in steady state messages take the memory of the ones before.
func TestSameLengthAllocatesNothing(t *testing.T) {
	w, c, message := newWorld(10_000), source(0, "/a"), make([]byte, 64)
	w.Remember(c, message)
	if n := testing.AllocsPerRun(100, func() { w.Remember(c, message) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestFirstShortageIsTold, and no other: more of them would say the same.
func TestFirstShortageIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(10_000)
	w.Remember(source(0, "/a"), make([]byte, 10_000))
	if w.TakeShortage() == (Shortage{}) {
		t.Error("not told")
	}
	w.Remember(source(1, "/b"), make([]byte, 10_000))
	if s := w.TakeShortage(); s != (Shortage{}) {
		t.Errorf("told again: %+v", s)
	}
}

// TestReserveThenKeep: a message that is copied without the lock counts from Reserve on.
func TestReserveThenKeep(t *testing.T) {
	t.Parallel()
	w, c := newWorld(10_000), source(0, "/a")
	w.Remember(c, []byte("before"))
	if !w.Reserve(c, 100) {
		t.Fatal("no memory")
	}
	w.check(t, "reserved", 12+200, 12+200)
	w.Keep(c, make([]byte, 100))
	w.check(t, "kept", 200, 200)
	w.Forget(c)
	w.check(t, "forgotten", 0, 0)
}

// TestWhichMessagesBeginAFile: of each publisher that of the connection with the latest message, the newest
// connection first.
func TestWhichMessagesBeginAFile(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		sources []Source // without messages if Latest is zero
		off     bool
		missed  bool
		ids     []rosbag.ConnID
	}{
		"one of each publisher": {
			sources: []Source{{conn: source(0, "/a").conn, latching: true, latest: now}, {conn: source(1, "/b").conn, latching: true, latest: now}},
			ids:     []rosbag.ConnID{1, 0},
		},
		"of a publisher that came back the later connection": {
			sources: []Source{{conn: source(0, "/a").conn, latching: true, latest: now}, {conn: source(1, "/b").conn, latching: true, latest: now}, {conn: source(2, "/a").conn, latching: true, latest: now}},
			ids:     []rosbag.ConnID{2, 1},
		},
		"with an earlier header that connection": {
			sources: []Source{{conn: source(0, "/a").conn, latching: true, latest: now.Add(1)}, {conn: source(1, "/a").conn, latching: true, latest: now}},
			ids:     []rosbag.ConnID{0},
		},
		"not those that do not latch, and none without a message": {
			sources: []Source{{conn: source(0, "/a").conn, latest: now}, {conn: source(1, "/b").conn, latching: true}},
		},
		"those that were missed; an older one does not take the place of one that was not": {
			sources: []Source{{conn: source(0, "/a").conn, latching: true, missed: true, latest: now}, {conn: source(1, "/b").conn, latching: true, missed: true, latest: now}, {conn: source(2, "/a").conn, latching: true, latest: now}},
			missed:  true,
			ids:     []rosbag.ConnID{1},
		},
		"where that is off, those of every file": {
			sources: []Source{{conn: source(0, "/a").conn, latching: true, latest: now}, {conn: source(1, "/b").conn, latching: true, everyFile: true, latest: now}},
			off:     true,
			ids:     []rosbag.ConnID{1},
		},
	} {
		w := newWorld(10_000)
		w.off = tc.off
		all := make([]*Source, len(tc.sources))
		for i := range tc.sources {
			if all[i] = &tc.sources[i]; !all[i].latest.IsZero() {
				w.Remember(all[i], []byte("x"))
			}
		}
		var ids []rosbag.ConnID
		got, missed := w.AtFile(all, tc.missed)
		for _, l := range got {
			ids = append(ids, l.Conn().ID)
		}
		if !slices.Equal(ids, tc.ids) {
			t.Errorf("%s: the file begins with messages of %v, want %v", name, ids, tc.ids)
		}
		if tc.missed && !slices.Equal(missed, got) {
			t.Errorf("%s: %d messages were missed, want all", name, len(missed))
		}
		if again, _ := w.AtFile(all, true); len(again) != 0 {
			t.Errorf("%s: %d messages are missed twice", name, len(again))
		}
		w.Release(got)
		for _, c := range all {
			w.Forget(c)
		}
		w.check(t, name, 0, 0)
	}
}

// TestClaim: what is on its way to a file counts only if it is free.
func TestClaim(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]bool{1000: true, 1001: false} {
		w := newWorld(1000)
		if got := w.Claim(n); got != want {
			t.Errorf("%d bytes of 1000 are claimed: %v", n, got)
		}
		if want {
			w.check(t, "claimed", n, n)
		} else {
			w.check(t, "not claimed", 0, 0)
		}
	}
}
