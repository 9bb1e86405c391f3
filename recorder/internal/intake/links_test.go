package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
		topic := in.Links().AddTopic(name, name, time.Time{})
		l, err := in.Links().OpenLink(topic, testlink.DefinitionInfo(name, fmt.Sprintf("/p%d", i), text))
		if err != nil {
			t.Fatal(err)
		}
		links, topics = append(links, l), append(topics, topic)
	}
	if u := in.Accounts().Usage(); u.Connections != 20 || u.Headers > int64(len(text))+20*3000 {
		t.Errorf("%d connections with one definition of %d bytes count %d", u.Connections, len(text), u.Headers)
	}
	for _, l := range links {
		l.Closed(nil)
	}
	in.Tick(time.Now().Add(time.Minute))
	for _, topic := range topics {
		in.Links().LeaveTopic(topic)
	}
	if u := in.Accounts().Usage(); u.Connections != 0 || u.Headers != 0 || len(in.accounts.Connections.Definitions) != 0 {
		t.Errorf("%d connections, %d bytes, %d definitions are left", u.Connections, u.Headers, len(in.accounts.Connections.Definitions))
	}
	for _, topic := range topics {
		if topic.Headers != 0 {
			t.Errorf("%s: %d bytes are left", topic.Name, topic.Headers)
		}
	}
}
