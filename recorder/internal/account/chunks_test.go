package account

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// chunkFigures are the figures of a topic that the fate of a chunk changes.
type chunkFigures struct {
	Tally, Written Tally
	Repeated       uint64
	Dropped        map[string]uint64
}

// TestFateOfAChunk: whatever becomes of a chunk, its messages count once for their topics, and those
// of a connection that was released for none.
func TestFateOfAChunk(t *testing.T) {
	t.Parallel()
	before := chunkFigures{Tally: Tally{10, 100}, Written: Tally{4, 40}, Repeated: 1, Dropped: map[string]uint64{"disk": 1}}
	for name, tc := range map[string]struct {
		do   func(*Accounts, *chunk.Sealed)
		a, b chunkFigures // of a topic with three messages of 25 bytes in the chunk, and of one with two of 15 bytes
	}{
		"written": {
			func(a *Accounts, c *chunk.Sealed) { a.Written(c, 0) },
			chunkFigures{Tally{10, 100}, Tally{7, 65}, 1, map[string]uint64{"disk": 1}},
			chunkFigures{Tally{10, 100}, Tally{6, 55}, 1, map[string]uint64{"disk": 1}},
		},
		"written to a snapshot": {
			func(a *Accounts, c *chunk.Sealed) { a.Written(c, -1) },
			chunkFigures{Tally{10, 100}, Tally{7, 65}, 1, map[string]uint64{"disk": 1}},
			chunkFigures{Tally{10, 100}, Tally{6, 55}, 1, map[string]uint64{"disk": 1}},
		},
		"repeated": {
			(*Accounts).Repeated,
			chunkFigures{Tally{10, 100}, Tally{4, 40}, 4, map[string]uint64{"disk": 1}},
			chunkFigures{Tally{10, 100}, Tally{4, 40}, 3, map[string]uint64{"disk": 1}},
		},
		"missing in a snapshot": {
			func(a *Accounts, c *chunk.Sealed) {
				a.onlySnapshots = true
				a.Lost(c, control.DropDisk)
			},
			chunkFigures{Tally{10, 100}, Tally{4, 40}, 1, map[string]uint64{"disk": 4}},
			chunkFigures{Tally{10, 100}, Tally{4, 40}, 1, map[string]uint64{"disk": 3}},
		},
		"not written": {
			func(a *Accounts, c *chunk.Sealed) { a.Lost(c, control.DropDisk) },
			chunkFigures{Tally{7, 75}, Tally{4, 40}, 1, map[string]uint64{"disk": 4}},
			chunkFigures{Tally{8, 85}, Tally{4, 40}, 1, map[string]uint64{"disk": 3}},
		},
		"never written": {
			func(a *Accounts, _ *chunk.Sealed) { a.Abandon() },
			chunkFigures{Tally{4, 40}, Tally{4, 40}, 1, map[string]uint64{"disk": 7}},
			chunkFigures{Tally{4, 40}, Tally{4, 40}, 1, map[string]uint64{"disk": 7}},
		},
		"deleted": {
			func(a *Accounts, _ *chunk.Sealed) {
				a.Deleted(map[string]Tally{"/gone": {9, 9}, "/a": {3, 25}})
			},
			chunkFigures{Tally{7, 75}, Tally{1, 15}, 1, map[string]uint64{"disk": 1, "deleted": 3}},
			before,
		},
		"deleted snapshot": {
			func(a *Accounts, _ *chunk.Sealed) {
				a.onlySnapshots = true
				a.Deleted(map[string]Tally{"/gone": {9, 9}, "/b": {2, 15}})
			},
			before,
			chunkFigures{Tally{10, 100}, Tally{2, 25}, 1, map[string]uint64{"disk": 1, "deleted": 2}},
		},
	} {
		accounts := New(nil, false)
		c := &chunk.Sealed{PayloadBytes: []uint64{70, 25, 15}}
		for i, count := range []uint32{7, 3, 2} { // the first connection was released
			topic := accounts.AddTopic(topicname.InBag([]string{"/released", "/a", "/b"}[i]), "", time.Time{})
			topic.recorded, topic.written, topic.repeated, topic.dropped[control.DropDisk] = before.Tally, before.Written, before.Repeated, 1
			of := accounts.connections.Add(topic, rosbag.Header{{Key: "topic", Value: string(topic.name)}})
			c.Counts = append(c.Counts, rosbag.ConnCount{Conn: of.Conn(), Count: count})
		}
		accounts.connections.Release(func(of *Connection) bool { return of.topic.name == "/released" })
		tc.do(&accounts, c)
		for i, want := range []chunkFigures{tc.a, tc.b} {
			topic := accounts.topics[i+1]
			got := chunkFigures{topic.recorded, topic.written, topic.repeated, topic.causes()}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, topic.name, diff)
			}
		}
		if released := accounts.topics[0]; name != "never written" && (released.recorded != before.Tally || released.written != before.Written) {
			t.Errorf("%s: messages of a connection that was released count as %+v", name, released.recorded)
		}
	}
}

// TestDeletedCostsNoMore: the work for a topic of a deleted file does not grow with the number of topics. With a search
// among all topics it would cost 50 times as much.
func TestDeletedCostsNoMore(t *testing.T) {
	cost := func(topics int) time.Duration { // of one topic
		accounts := New(nil, false)
		content := map[string]Tally{}
		for i := range topics {
			name := fmt.Sprintf("/topic%06d", i)
			accounts.AddTopic(topicname.InBag(name), topicname.InGraph(name), time.Time{})
			content[name] = Tally{}
		}
		least := time.Duration(math.MaxInt64)
		for range 3 {
			began := testkit.CPUTime(t)
			for range 50_000 / topics {
				accounts.Deleted(content)
			}
			least = min(least, testkit.CPUTime(t)-began)
		}
		return least
	}
	few, many := cost(100), cost(5000)
	t.Logf("100 topics: %v, 5000 topics: %v", few, many)
	if many > 10*few {
		t.Errorf("as many topics cost %v when they are in one file of 5000, and %v in files of 100", many, few)
	}
}

// TestFileOfAConnection: a connection belongs to the last file that has its record or a message.
func TestFileOfAConnection(t *testing.T) {
	t.Parallel()
	accounts := New(nil, false)
	of := accounts.connections.Add(accounts.AddTopic("/a", "/a", time.Time{}), nil)
	c := &chunk.Sealed{Counts: []rosbag.ConnCount{{Conn: of.Conn(), Count: 1}}, PayloadBytes: []uint64{1}}
	if !of.Within(0) || len(accounts.Stored()) != 0 {
		t.Error("a new connection is in a file")
	}
	if of.NoteRecord(0); of.Within(0) || !of.Within(1) || len(accounts.Stored()) != 1 || !of.HasRecord(0) || of.HasRecord(1) {
		t.Error("the record of a connection is not in the first file alone")
	}
	if accounts.Written(c, 2); of.Within(2) || !of.Within(3) || of.HasRecord(2) {
		t.Error("a message is not in the third file alone")
	}
}
