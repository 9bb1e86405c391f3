package account

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// TestFormerPublishers adds accounts up.
func TestFormerPublishers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var a Accounts
	topic := &Topic{name: "/t"}
	for n := range 5 {
		u := loss.NewPublisher(fmt.Sprint(n), "/t")
		u.AddMissed(1, true)
		u.Open("http://first", true, now)
		for i := range 5 {
			u.End(io.EOF, now.Add(-200*time.Millisecond))
			if i < 2 {
				u.SetListed(true)
			}
			u.Open(fmt.Sprint("http://again", i), true, now)
		}
		if n < 4 {
			u.End(nil, now)
		}
		topic.publishers.all = append(topic.publishers.all, u)
	}
	a.FoldPublishers(topic, 1, func(u *loss.Publisher) bool { return u.ID() != "0" }, now)
	want := control.FormerPublishers{Count: 3, Missed: 3, LinksLost: 6, Reconnected: 9, Without: 3 * time.Second}
	if topic.publishers.former != want || len(topic.publishers.all) != 2 {
		t.Errorf("%+v, %d left", topic.publishers.former, len(topic.publishers.all))
	}
}

// TestFoldTheOldest: of the publishers that are gone, the oldest lose their own account, and only as
// many as are too many. What their accounts took of the memory is free again.
func TestFoldTheOldest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var a Accounts
	topic := &Topic{name: "/t"}
	held := []int64{0} // by the number of publishers
	for n := range 5 {
		a.Publisher(topic, fmt.Sprint(n))
		held = append(held, a.connections.held)
	}
	all := func(*loss.Publisher) bool { return true }
	a.FoldPublishers(topic, 5, all, now)
	if got := publisherIDs(topic); len(got) != 5 || a.connections.held != held[5] {
		t.Errorf("%v are left of five, which are not too many", got)
	}
	topic.publishers.all[1].Open("http://p", true, now)
	a.FoldPublishers(topic, 3, all, now)
	if got := publisherIDs(topic); !slices.Equal(got, []string{"1", "3", "4"}) || topic.publishers.former.Count != 2 {
		t.Errorf("%v are left, %d are former", got, topic.publishers.former.Count)
	}
	if a.connections.held != held[3] || topic.headers != held[3] {
		t.Errorf("three publishers take %d bytes, and %d when five were there before", held[3], a.connections.held)
	}
}

func publisherIDs(t *Topic) (ids []string) {
	for _, u := range t.publishers.all {
		ids = append(ids, u.ID())
	}
	return ids
}
