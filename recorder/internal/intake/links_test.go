package intake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestDefinitionsAreShared: all connections with one definition hold it once, whosever
// topic they are of, and the last of them gives it back.
func TestDefinitionsAreShared(t *testing.T) {
	t.Parallel()
	in := bareIntake(1<<30, 100)
	text := strings.Repeat("float64 x\n", 10_000)
	var links []*Link
	var topics []*account.Topic
	for i := range 20 {
		name := fmt.Sprintf("/t%d", i%3)
		topic := in.Accounts.AddTopic(topicname.InBag(name), topicname.InGraph(name), time.Time{})
		l, err := in.OpenLink(topic, testlink.DefinitionInfo(name, fmt.Sprintf("/p%d", i), text))
		if err != nil {
			t.Fatal(err)
		}
		links, topics = append(links, l), append(topics, topic)
	}
	if u := in.Usage(); u.Connections != 20 || u.Headers > int64(len(text))+20*3000 {
		t.Errorf("%d connections with one definition of %d bytes count %d", u.Connections, len(text), u.Headers)
	}
	for _, l := range links {
		l.Closed(nil)
	}
	in.Tick(time.Now().Add(time.Minute))
	for _, topic := range topics {
		in.Accounts.LeaveTopic(topic)
	}
	if u := in.Usage(); u.Connections != 0 || u.Headers != 0 {
		t.Errorf("%d connections, %d bytes are left", u.Connections, u.Headers)
	}
}

// TestNoMemoryForAHeader: a publisher with another header is refused, and one that comes back is not. Without a limit
// of the buffer none is.
func TestNoMemoryForAHeader(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1 << 20, -1} {
		in := bareIntake(limit, 100)
		topic := in.Accounts.AddTopic("/t", "/t", time.Time{})
		open := func(definition string) error {
			_, err := in.OpenLink(topic, testlink.DefinitionInfo("/t", "/p", definition))
			return err
		}
		if err := open("uint32 a\n"); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1 << 20, 10_000, 10} { // until no header fits any more
			for i := 0; i < 200 && open(strings.Repeat("#", size)+strconv.Itoa(i)) == nil; i++ {
			}
		}
		if err := open("uint32 a\n"); err != nil {
			t.Errorf("limit %d: it comes back: %v", limit, err)
		}
		var full *account.HeadersFullError
		if err := open("uint32 b\n"); errors.As(err, &full) != (limit >= 0) {
			t.Errorf("limit %d: another header: %v", limit, err)
		}
	}
}

// TestRefuse: a publisher that the node could not connect to is counted with its topic, which is listed then. After the
// end of the recording nothing is missing.
func TestRefuse(t *testing.T) {
	t.Parallel()
	in := bareIntake(1<<20, 100)
	topic := in.Accounts.NewTopic("/t")
	in.Refuse(topic, "http://a", fmt.Errorf("not taken: %w", ErrEnded))
	if all := in.Accounts.Summary(time.Now()).Topics; len(all) != 0 {
		t.Errorf("%+v", all)
	}
	in.Refuse(topic, "http://a", syscall.EMFILE)
	if s := in.Accounts.Summary(time.Now()); s.Unlinked() != 1 {
		t.Errorf("%+v", s.Topics)
	}
	in.Close()
	in.Refuse(topic, "http://b", syscall.EMFILE)
	if s := in.Accounts.Summary(time.Now()); s.Unlinked() != 1 {
		t.Errorf("%d after the end", s.Unlinked())
	}
}

// TestBuffered: memory that is kept for the next chunk is not in use.
func TestBuffered(t *testing.T) {
	t.Parallel()
	in := bareIntake(8<<20, 10_000)
	used, free := usedChunk(t, in.Buffers.pool, 20_000), usedChunk(t, in.Buffers.pool, 10_000)
	in.Buffers.pool.Put(free)
	if s := in.Stats(time.Now()); s.Buffered != used.Counted() || s.BufferMost != 8<<20 || in.Buffers.pool.Usage().Idle == 0 {
		t.Errorf("%d of %d bytes are in use, want %d", s.Buffered, s.BufferMost, used.Counted())
	}
}

// TestListedWithItsFirstLink: the account of a new topic is listed once, when a publisher is linked.
func TestListedWithItsFirstLink(t *testing.T) {
	t.Parallel()
	in := bareIntake(1<<30, 100)
	topic := in.Accounts.NewTopic("/t")
	for links := range 3 {
		if n := len(in.Accounts.Summary(time.Now()).Topics); n != min(links, 1) {
			t.Errorf("%d topics are listed after %d links", n, links)
		}
		if _, err := in.OpenLink(topic, testlink.Info("/t", "/p")); err != nil {
			t.Fatal(err)
		}
	}
}
