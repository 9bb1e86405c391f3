package faults_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestHugeName: a node registers a topic with a name of 17 MB. All other topics are recorded, those
// that come later, too, and it is told that there was something that cannot be read.
func TestHugeName(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a name of 17 MB")
	g := harness.NewGraph(t, "gomaster")
	huge := "/" + strings.Repeat("x", 17<<20)
	listed := []any{[]any{huge, "std_msgs/String"}, []any{"/before", "std_msgs/String"}}
	peers.Talk(g, "talker", "/before", "/later")
	talker, asker := "", peers.Node(g, "asker")
	g.Eventually("the talker is registered", func() bool {
		uri, err := asker.Master().LookupNode(t.Context(), "/talker")
		talker = uri
		return err == nil
	})
	later := make(chan struct{})
	uri := badMaster(g, func(_ context.Context, method string) any {
		if method == "registerSubscriber" {
			return []any{1, "", []any{talker}}
		}
		if method != "getPublishedTopics" {
			return nil
		}
		select {
		case <-later:
			return []any{1, "", append(listed[:2:2], []any{"/later", "std_msgs/String"})}
		default:
			return []any{1, "", listed}
		}
	})
	address := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Start("gorecord", "-a", "-O", "out", "--http", address, "__master:="+uri)
	rec.Printed(`Subscribing to {"topic": "/before"}`)
	close(later)
	rec.Printed(`Subscribing to {"topic": "/later"}`)
	rec.Printed("cannot be read in full")
	var health struct{ Problems []string }
	g.Eventually("the health says so", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/healthz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && json.Unmarshal(text, &health) == nil && strings.Contains(strings.Join(health.Problems, " "), "getPublishedTopics: 1 too long")
	})
	g.Eventually("both are recorded", func() bool {
		topics := map[string][]string{}
		_ = bags.AddMessages(topics, filepath.Join(g.Dir, "out.bag.active")) // it may have no header yet
		return len(topics["/before"]) > 0 && len(topics["/later"]) > 0
	})
	rec.Signal(syscall.SIGINT)
	rec.Ended(3, "gorecord: replies of the master could not be read in full (getPublishedTopics: 1 too long); see the summary")
}
