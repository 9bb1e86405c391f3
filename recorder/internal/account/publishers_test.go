package account_test

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// TestFormerPublishers adds accounts up.
func TestFormerPublishers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var a account.Accounts
	topic := &account.Topic{Name: "/t"}
	for n := range 5 {
		u := &loss.Publisher{ID: fmt.Sprint(n)}
		u.AddMissed(1, true)
		u.Open(false, true, now)
		for i := range 5 {
			u.End(io.EOF, now.Add(-200*time.Millisecond))
			if i < 2 {
				u.SetListed(true)
			}
			u.Open(false, true, now)
		}
		if n < 4 {
			u.End(nil, now)
		}
		topic.Publishers.All = append(topic.Publishers.All, u)
	}
	a.FoldPublishers(topic, 1, func(u *loss.Publisher) bool { return u.ID != "0" }, now)
	want := control.FormerPublishers{Count: 3, Missed: 3, LinksLost: 6, Reconnected: 9, Without: 3 * time.Second}
	if topic.Publishers.Former != want || len(topic.Publishers.All) != 2 {
		t.Errorf("%+v, %d left", topic.Publishers.Former, len(topic.Publishers.All))
	}
}

// TestFoldTheOldest: of the publishers that are gone, the oldest lose their own account, and only as
// many as are too many. What their accounts took of the memory is free again.
func TestFoldTheOldest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var a account.Accounts
	topic := &account.Topic{Name: "/t"}
	held := []int64{0} // by the number of publishers
	for n := range 5 {
		a.Publisher(topic, fmt.Sprint(n), "/t")
		held = append(held, a.Connections.Held)
	}
	all := func(*loss.Publisher) bool { return true }
	a.FoldPublishers(topic, 5, all, now)
	if got := publisherIDs(topic); len(got) != 5 || a.Connections.Held != held[5] {
		t.Errorf("%v are left of five, which are not too many", got)
	}
	topic.Publishers.All[1].Links = 1
	a.FoldPublishers(topic, 3, all, now)
	if got := publisherIDs(topic); !slices.Equal(got, []string{"1", "3", "4"}) || topic.Publishers.Former.Count != 2 {
		t.Errorf("%v are left, %d are former", got, topic.Publishers.Former.Count)
	}
	if a.Connections.Held != held[3] || topic.Headers != held[3] {
		t.Errorf("three publishers take %d bytes, and %d when five were there before", held[3], a.Connections.Held)
	}
}

func publisherIDs(t *account.Topic) (ids []string) {
	for _, u := range t.Publishers.All {
		ids = append(ids, u.ID)
	}
	return ids
}
