package live_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// TestLazyViewers: viewers that subscribe to 2,000 topics and read nothing hold up neither the probes, nor the
// recording, nor its end.
func TestLazyViewers(t *testing.T) {
	t.Parallel()
	harness.Long(t, "publishes 20,000 messages a second for seconds")
	const topics, viewers, each = 2000, 16, 100 * time.Millisecond
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "talker")
	publications := make([]*tcpros.Publication, topics)
	for i := range publications {
		publications[i] = peers.Advertise(g, n, fmt.Sprintf("/many%04d", i), false)
	}
	rec, host := recordWithViewers(g, "-a", "-x", "/rosout.*")
	harness.Eventually(t, "all topics are connected", func() bool {
		for _, p := range publications {
			if p.Subscribers() == 0 {
				return false
			}
		}
		return true
	})
	var request struct {
		Op            string       `json:"op"`
		Subscriptions []subscribed `json:"subscriptions"`
	}
	request.Op = "subscribe"
	for i := range uint32(topics) {
		request.Subscriptions = append(request.Subscriptions, subscribed{i + 1, i + 1})
	}
	for range viewers {
		c, err := viewer.Dial(t.Context(), host, viewer.Options{ReadBuffer: 4096})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.WriteJSON(request); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var publishing sync.WaitGroup
	sent := 0
	publishing.Go(func() {
		ticker := time.NewTicker(each)
		defer ticker.Stop()
		text := peers.StringFrame(fmt.Sprintf("%100s", ""))
		for {
			for _, p := range publications {
				p.Source(false).PublishNow(text)
			}
			sent++
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	})
	defer publishing.Wait()
	harness.Eventually(t, "each viewer skips messages", func() bool {
		state := webState(t, host)
		for _, v := range state.Live.Viewers {
			if v.Skipped == 0 {
				return false
			}
		}
		return len(state.Live.Viewers) == viewers
	})
	stalls := g.Stalls()
	var probes []time.Duration
	for range 21 {
		began := time.Now()
		resp, err := http.Get("http://" + host + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		probes = append(probes, time.Since(began))
		<-time.After(each)
	}
	slices.Sort(probes)
	probe, stood := probes[len(probes)/2], stalls()
	close(stop)
	publishing.Wait()
	harness.Eventually(t, "all messages are recorded", func() bool { return webMessages(t, host, "/many0000") == sent })
	stalls = g.Stalls(rec)
	began := time.Now()
	rec.Signal(syscall.SIGINT)
	rec.Ended(0, "lost: none")
	ended, waited := time.Since(began), stalls()
	t.Logf("half of the probes took %v at most, all of them %v (a timer was late by %v), the end %v (of which the programs waited %v for a processor)",
		probe, probes[len(probes)-1], stood, ended, waited)
	if probe-stood > 100*time.Millisecond {
		t.Errorf("a probe takes %v", probe)
	}
	if ended-waited > 2*time.Second {
		t.Errorf("the recording ends after %v", ended)
	}
}

// subscribed is a subscription in a request.
type subscribed struct {
	ID      uint32 `json:"id"`
	Channel uint32 `json:"channelId"`
}
