package play_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestRosout: others hear what goplay logs, beside the recorded /rosout of the bag if it plays one.
func TestRosout(t *testing.T) {
	t.Parallel()
	for name, topic := range map[string]string{"bag without /rosout": "/chatter", "bag with /rosout": "/rosout"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			bags.Make(g, "strings.bag", bags.Walk()...)
			w := bags.New(t, filepath.Join(g.Dir, "log.bag"))
			c, err := w.AddConnection(topic, rosbag.Header{
				{Key: "callerid", Value: "/recorded"},
				{Key: "md5sum", Value: rosout.MD5Sum},
				{Key: "type", Value: rosout.Type},
				{Key: "message_definition", Value: rosout.Definition},
				{Key: "topic", Value: topic},
			})
			if err != nil {
				t.Fatal(err)
			}
			// seq, stamp, frame_id; level; name, msg, file, function; line; topics
			recorded := append(append(make([]byte, 16), 2), bags.StringData("/recorded")...)
			recorded = append(recorded, make([]byte, 4+4+4+4+4)...)
			for i := range 3 {
				if err := w.Write(c, bags.Start().Add(time.Duration(i)*100*time.Millisecond), recorded); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			console := peers.HearRosout(g)
			play := g.Start("goplay", "log.bag", "--pause", "--keep-alive", "__name:=player")
			console.Hears("/player")
			caller := peers.Node(g, "caller")
			g.Eventually("the service", func() bool {
				_, err := caller.CallService(t.Context(), "/player/play", tcpros.TriggerService, nil)
				return err == nil
			}, console.String)
			heard := func() bool {
				own := false
				for _, l := range console.Of("/player") {
					own = own || l.Level == 2 && strings.HasPrefix(l.Text, "service call service=~play")
				}
				return own && (topic != "/rosout" || len(console.Of("/recorded")) == 3)
			}
			g.Eventually("the lines", heard, console.String)
			play.Stop()
			lines := console.Of("/player")
			if last := lines[len(lines)-1]; topic != "/rosout" && !strings.HasPrefix(last.Text, "lost: none\n") {
				t.Errorf("the last line is %+v", last)
			}
		})
	}
}
