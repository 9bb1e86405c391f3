package recorder

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// queuedTurns returns how many large messages wait for a lease. The caller has the lock of the intake.
func queuedTurns(in *intake.Intake) int {
	n, _ := in.Pool.Turns.Waits()
	return n
}

// largeWait reports whether a large message waits. The caller has the lock of the intake.
func largeWait(in *intake.Intake) bool {
	queued, short := in.Pool.Turns.Waits()
	return queued+short > 0
}

// turnOf returns the turn of a large message.
func turnOf(f tcpros.LargeFrame) *memory.Turn { return &f.(*intake.LargeFrame).Turn }

// bytesInUse returns how much of the buffer is used, and how much of that for latched
// messages.
func bytesInUse(p *intake.Intake) (all, forLatched int64) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Pool.Held - p.Pool.Idle, p.Pool.Latched
}

// bytesLeft returns how much of the buffer is neither used nor promised.
func bytesLeft(p *intake.Intake) int64 {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Pool.Budget - (p.Pool.Held - p.Pool.Idle)
}

// topicAccount is what was counted of one topic.
type topicAccount struct {
	Recorded, Passed, Repeated uint64
	Dropped                    [control.DropCauses]uint64
	waiting                    int64 // bytes that wait for the disk
}

// accountOf returns what was counted of the topic of a link.
func accountOf(l *intake.Link) topicAccount {
	l.In.Mu.Lock()
	defer l.In.Mu.Unlock()
	t := l.Connection.Topic
	return topicAccount{t.Messages, t.Passed, t.Repeated, t.Dropped, t.Memory.Waiting}
}

// lost returns how many messages of the topic of a link were dropped, for whatever cause.
func lost(l *intake.Link) (n uint64) {
	for _, d := range accountOf(l).Dropped {
		n += d
	}
	return n
}

func latchingConnection(p *intake.Intake, publisher string) *account.Connection {
	c := &account.Connection{Source: latch.Source{Conn: &rosbag.Connection{ID: rosbag.ConnID(len(p.Account.Connections.All)), Topic: "/map", Header: rosbag.Header(testlink.Info("/map", publisher).Header)}, Latching: true}, Topic: &account.Topic{Name: "/map"}}
	if len(p.Account.Connections.All) > 0 {
		c.Topic = p.Account.Connections.All[0].Topic
	}
	p.Account.Connections.All = append(p.Account.Connections.All, c)
	return c
}

// longRecordInfo is that of a publisher whose connection record is so long that large messages
// rely on one in their file.
func longRecordInfo() (info tcpros.LinkInfo, definition string) {
	info, definition = testlink.Info("/scan", "/p"), strings.Repeat("uint32 n\n", 2000)
	for i := range info.Header {
		if info.Header[i].Key == "message_definition" {
			info.Header[i].Value = definition
		}
	}
	return info, definition
}

// records counts the connection records with a definition in a file.
func records(t *testing.T, path, definition string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("message_definition="+definition))
}
