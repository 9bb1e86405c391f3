package account_test

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
)

// TestOneOfTwoLinksIsHeldUp: it is reported although the other link of the topic goes on.
func TestOneOfTwoLinksIsHeldUp(t *testing.T) {
	t.Parallel()
	topic := &account.Topic{Name: "/t"}
	a := account.Accounts{Topics: []*account.Topic{topic}}
	now := time.Now()
	stands, flows := &account.Wait{Topic: topic}, &account.Wait{Topic: topic}
	stands.Since = now.Add(-account.ReportedWait)
	a.Waits = append(a.Waits, stands)
	a.EndWait(flows)
	if news := a.WaitNews(now); len(news) != 1 || news[0].Over || a.HeldUp(topic, now) != account.ReportedWait {
		t.Errorf("%+v, held up for %v", news, a.HeldUp(topic, now))
	}
	a.EndWait(stands)
	if news := a.WaitNews(now); len(news) != 1 || !news[0].Over || len(a.Waits) != 0 || a.HeldUp(topic, now) < account.ReportedWait {
		t.Errorf("%+v, %d blocked, held up for %v", news, len(a.Waits), a.HeldUp(topic, now))
	}
}
