package foxglove

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

// TestHandshake checks which offers of subprotocols are accepted.
func TestHandshake(t *testing.T) {
	t.Parallel()
	_, url := serve(t, newSource(nil, live.Limits{}))
	for name, c := range map[string]struct {
		offers []string
		want   string // the subprotocol; empty for a refusal
	}{
		"old first":     {[]string{"foxglove.websocket.v1, foxglove.sdk.v1"}, oldProtocol},
		"sdk first":     {[]string{"foxglove.sdk.v1,foxglove.websocket.v1"}, sdkProtocol},
		"sdk":           {[]string{"foxglove.sdk.v1"}, sdkProtocol},
		"old":           {[]string{"foxglove.websocket.v1"}, oldProtocol},
		"none":          {nil, ""},
		"empty":         {[]string{""}, ""},
		"unknown":       {[]string{"chat"}, ""},
		"unknown first": {[]string{"chat,foxglove.websocket.v1"}, oldProtocol},
		"two headers":   {[]string{"chat", "foxglove.websocket.v1", "foxglove.sdk.v1"}, oldProtocol},
		"spaces":        {[]string{"  chat ,\t foxglove.sdk.v1  "}, sdkProtocol},
		"case":          {[]string{"Foxglove.SDK.v1"}, "Foxglove.SDK.v1"}, // a browser wants to get what it offered
		"part":          {[]string{"foxglove.sdk.v1.2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(url, "ws")+"/some/path?query=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
				"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": c.offers,
				"Sec-Websocket-Extensions": {"permessage-deflate; client_max_window_bits"},
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if c.want == "" {
				b, err := io.ReadAll(resp.Body)
				if text := string(b); err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, sdkProtocol) || !strings.Contains(text, oldProtocol) {
					t.Errorf("status %d, %q, %v; want 400 that names both subprotocols", resp.StatusCode, text, err)
				}
				return
			}
			if got := resp.Header.Get("Sec-Websocket-Protocol"); resp.StatusCode != http.StatusSwitchingProtocols || got != c.want {
				t.Errorf("status %d, subprotocol %q, want %q", resp.StatusCode, got, c.want)
			}
			if got := resp.Header.Get("Sec-Websocket-Extensions"); got != "" {
				t.Errorf("extensions %q, want none", got)
			}
		})
	}
}

// TestView checks what a viewer of a recording receives, in order.
func TestView(t *testing.T) {
	t.Parallel()
	source := newSource(func(id live.ChannelID) []live.Frame {
		if id == 1 {
			return []live.Frame{{Time: at(1), Payload: []byte("latched")}}
		}
		return nil
	}, live.Limits{})
	var feeds []*live.Feed
	for i := range 250 {
		feeds = append(feeds, open(source.Store, fmt.Sprintf("/topic%d", i)))
	}
	s, url := serve(t, source)
	v := connect(t, url)
	op, info, _ := v.receive()
	want := map[string]any{"op": "serverInfo", "name": "gorecord /test", "capabilities": []any{}, "metadata": map[string]any{"ROS_DISTRO": "noetic"}, "sessionId": "session-1"}
	if diff := cmp.Diff(want, info); op != "serverInfo" || diff != "" {
		t.Errorf("server info (-want +got):\n%s", diff)
	}
	told := 0
	for told < 250 {
		channels, _ := v.expect("advertise")["channels"].([]any)
		if told == 0 {
			first := map[string]any{
				"id": 1.0, "topic": "/topic0", "encoding": "ros1", "schemaName": "std_msgs/String", "schema": "string data\n", "schemaEncoding": "ros1msg",
			}
			if diff := cmp.Diff(first, channels[0]); diff != "" {
				t.Errorf("channel (-want +got):\n%s", diff)
			}
		}
		if len(channels) > 100 {
			t.Errorf("%d channels are advertised at once", len(channels))
		}
		told += len(channels)
	}
	v.subscribe(feeds[0], feeds[1])
	feeds[0].Put(at(2), []byte("new"), 0)
	large := strings.Repeat("large ", 100000)
	feeds[1].Put(at(3), []byte(large), 0)
	feeds[2].Put(at(3), []byte("not wanted"), 0)
	feeds[0].Put(at(4), []byte("last"), 0)
	for _, want := range []string{
		"\x01\x65\x00\x00\x00\x00\xca\x9a\x3b\x00\x00\x00\x00latched", "\x01\x65\x00\x00\x00\x00\x94\x35\x77\x00\x00\x00\x00new",
		"\x01\x66\x00\x00\x00\x00\x5e\xd0\xb2\x00\x00\x00\x00" + large, "\x01\x65\x00\x00\x00\x00\x28\x6b\xee\x00\x00\x00\x00last",
	} {
		if got := string(v.expectBinary(opMessageData)); got != want {
			t.Errorf("received %.40q, want %.40q", got, want)
		}
	}
	reports := s.Viewers()
	if len(reports) != 1 || reports[0].Messages != 4 || reports[0].Channels != 2 || reports[0].Skipped != 0 {
		t.Errorf("viewers: %+v", reports)
	}
	v.text(`{"op":"unsubscribe","subscriptionIds":[101,7]}`)
	wait(t, func() bool { return !feeds[0].Wanted() })
	v.ws.Close(websocket.StatusNormalClosure, "")
	wait(t, func() bool { return len(s.Viewers()) == 0 })
	if feeds[1].Wanted() {
		t.Error("the topic of a viewer that has left is still wanted")
	}
	if total := s.Total(); total.Messages != 4 {
		t.Errorf("in total: %+v", total)
	}
}

// TestChannelsChange checks that channels appear and disappear, that a topic is advertised once, and
// that notices become statuses.
func TestChannelsChange(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	_, url := serve(t, source)
	v := connect(t, url)
	if channels, _ := v.expect("advertise")["channels"].([]any); len(channels) != 0 {
		t.Errorf("channels %v", channels)
	}
	ids := func(message map[string]any) (ids []string) {
		channels, _ := message["channels"].([]any)
		for _, c := range channels {
			m, _ := c.(map[string]any)
			ids = append(ids, fmt.Sprint(m["id"], m["topic"]))
		}
		return ids
	}
	a := open(source.Store, "/a")
	if diff := cmp.Diff([]string{"1/a"}, ids(v.expect("advertise"))); diff != "" {
		t.Error(diff)
	}
	source.Store.Open(live.Channel{Topic: "/a", Type: "std_msgs/Empty"})
	source.Store.SetNotice("/a", "Topic /a has two types:\nshown is std_msgs/String")
	if got := v.expect("status"); got["message"] != "Topic /a has two types: shown is std_msgs/String" || got["id"] != "topic:/a" || got["level"] != 1.0 {
		t.Errorf("status %v", got)
	}
	v.subscribe(a)
	a.Close()
	if got := v.expect("unadvertise"); fmt.Sprint(got["channelIds"]) != "[1]" {
		t.Errorf("unadvertise %v", got)
	}
	if diff := cmp.Diff([]string{"2/a"}, ids(v.expect("advertise"))); diff != "" {
		t.Error(diff)
	}
	source.Store.SetNotice("/a", "")
	if got := v.expect("removeStatus"); fmt.Sprint(got["statusIds"]) != "[topic:/a]" {
		t.Errorf("removeStatus %v", got)
	}
}

// TestSession checks that everything is sent to a viewer again when the session changes.
func TestSession(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	sessions := make(chan string, 1)
	name := "one"
	source.Info = func() live.Info {
		select {
		case name = <-sessions:
		default:
		}
		return live.Info{Name: "gorecord", Session: name}
	}
	f := open(source.Store, "/a")
	_, url := serve(t, source)
	v := connect(t, url)
	if got := v.expect("serverInfo")["sessionId"]; got != "one" {
		t.Errorf("session %v", got)
	}
	v.expect("advertise")
	v.subscribe(f)
	sessions <- "two"
	source.Store.Change()
	if got := v.expect("serverInfo")["sessionId"]; got != "two" {
		t.Errorf("session %v", got)
	}
	v.expect("advertise")
	wait(t, func() bool { return !f.Wanted() })
}

// TestClockComesLater checks that a viewer is notified when the source begins to have a clock.
func TestClockComesLater(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	var clock atomic.Bool
	source.Info = func() live.Info { return live.Info{Name: "gorecord", Session: "one", Clock: clock.Load()} }
	f := open(source.Store, "/a")
	_, url := serve(t, source)
	v := connect(t, url)
	v.expect("advertise")
	v.subscribe(f)
	clock.Store(true)
	source.Store.Change()
	if got := fmt.Sprint(v.expect("serverInfo")["capabilities"]); got != "[time]" {
		t.Errorf("capabilities %s", got)
	}
	f.Put(at(7), []byte("x"), 0)
	if got := string(v.expectBinary(opTime)); got != string(appendTime(nil, at(7))) {
		t.Errorf("the time is %x", got)
	}
	v.expectBinary(opMessageData)
}

// TestRefusals checks that every operation other than viewing is refused with a constant text, and that
// the viewer stays connected.
func TestRefusals(t *testing.T) {
	t.Parallel()
	source := newSource(nil, live.Limits{})
	f := open(source.Store, "/a")
	_, url := serve(t, source)
	v := connect(t, url)
	for text, want := range map[string]string{
		`{"op":"advertise","channels":[{"id":1,"topic":"/cmd_vel","encoding":"ros1","schemaName":"geometry_msgs/Twist"}]}`: noPublishing,
		`{"op":"unadvertise","channelIds":[1]}`:                                   noPublishing,
		`{"op":"getParameters","parameterNames":[],"id":"get-all-params"}`:        noParameters,
		`{"op":"setParameters","parameters":[{"name":"/a","value":1}]}`:           noParameters,
		`{"op":"subscribeParameterUpdates","parameterNames":["/a"]}`:              noParameters,
		`{"op":"unsubscribeParameterUpdates","parameterNames":["/a"]}`:            noParameters,
		`{"op":"fetchAsset","uri":"file:///etc/passwd","requestId":1}`:            noAssets,
		`{"op":"subscribeConnectionGraph"}`:                                       noGraph,
		`{"op":"fly"}`:                                                            unknownOp,
		`{"op":1}`:                                                                invalid,
		`{}`:                                                                      invalid,
		`[]`:                                                                      invalid,
		`{"op":"subscribe","subscriptions":[{"id":-1,"channelId":1}]}`:            invalid,
		`{"op":"subscribe","subscriptions":[{"channelId":1}]}`:                    invalid,
		`{"op":"subscribe","subscriptions":[{"id":4294967296,"channelId":1}]}`:    invalid,
		`{"op":"subscribe","subscriptions":[{"id":1,"channelId":99}]}`:            unknownTopic,
		strings.Repeat("[", 100000):                                               invalid,
		`{"op":"subscribe","subscriptions":` + strings.Repeat(`[`, 20000) + `1]}`: invalid,
	} {
		v.text("%s", text)
		if got := v.expect("status"); got["message"] != want || got["level"] != 2.0 {
			t.Errorf("%.80s: status %v, want %q", text, got, want)
		}
	}
	for bytes, want := range map[string]string{
		"\x01\x01\x00\x00\x00payload": noPublishing,
		"\x02\x01\x00\x00\x00":        noServices,
		"\x03\x01":                    noPlayback,
		"\x09":                        unknownOp,
		"\xff\xff":                    unknownOp,
	} {
		v.send(websocket.MessageBinary, []byte(bytes))
		if got := v.expect("status"); got["message"] != want || got["level"] != 2.0 {
			t.Errorf("%q: status %v, want %q", bytes, got, want)
		}
	}
	v.send(websocket.MessageBinary, nil) // both are ignored
	v.send(websocket.MessageText, nil)
	v.subscribe(f)
	v.text(`{"op":"subscribe","subscriptions":[{"id":102,"channelId":1}]}`)
	if got := v.expect("status"); got["message"] != subscribed || got["level"] != 1.0 {
		t.Errorf("a second subscription to a channel: %v", got)
	}
	v.text(`{"op":"subscribe","subscriptions":[{"id":101,"channelId":2}]}`)
	if got := v.expect("status"); got["message"] != usedID || got["level"] != 2.0 {
		t.Errorf("a second subscription with an ID: %v", got)
	}
	f.Put(at(1), []byte("x"), 0)
	v.expectBinary(opMessageData)
}

// TestTooManyViewers checks that a viewer beyond the limit gets the reason for being disconnected.
func TestTooManyViewers(t *testing.T) {
	t.Parallel()
	_, url := serve(t, newSource(nil, live.Limits{Viewers: 1}))
	first := connect(t, url)
	first.expect("advertise")
	v := connect(t, url)
	v.expectStatus(tooManyText)
	_, _, _, err := v.tryReceive()
	if got := websocket.CloseStatus(err); got != websocket.StatusTryAgainLater {
		t.Errorf("closed with %v (%v)", got, err)
	}
}

// TestClose checks that a viewer gets a message that the server ends.
func TestClose(t *testing.T) {
	t.Parallel()
	s, url := serve(t, newSource(nil, live.Limits{}))
	v := connect(t, url)
	v.expect("advertise")
	closed := make(chan struct{})
	go func() { // owner: the test; ends when the server has closed
		defer close(closed)
		s.Close()
	}()
	v.expectStatus(ending)
	_, _, _, err := v.tryReceive()
	if got := websocket.CloseStatus(err); got != websocket.StatusGoingAway {
		t.Errorf("closed with %v (%v)", got, err)
	}
	<-closed
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if _, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: subprotocols}); err == nil || resp.StatusCode != http.StatusServiceUnavailable { //nolint:bodyclose // the library has read it
		t.Errorf("a viewer connected to a server that has ended: %v", err)
	}
}
