package account_test

import (
	"fmt"
	"io"
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
				u.Explain(true)
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
