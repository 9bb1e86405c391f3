package service_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

// hostile are names of types and files that a page must not take for anything but text.
const (
	hostileTag  = `<img src=x onerror=window.got=1>`
	hostileTurn = "\u202egab\u2066.exe\u200b"
)

// hostileTypes are what publishers say of themselves.
var hostileTypes = []string{
	hostileTag, `"><script>window.got=1</script>`, `' onmouseover='window.got=1`, "javascript:window.got=1", hostileTurn, "שלום/عالم", strings.Repeat("long", 400),
}

// hostilePublishers register one publisher of each type. It sends one message.
func hostilePublishers(g *harness.Graph) {
	g.T.Helper()
	for i, typ := range hostileTypes {
		answer := tcpros.AppendHeader(nil, tcpros.Header{
			{Key: "callerid", Value: "/" + hostileTag + hostileTurn},
			{Key: "md5sum", Value: strings.Repeat("0", 32)},
			{Key: "type", Value: typ},
			{Key: "message_definition", Value: "string data\n" + hostileTag},
		})
		answer = append(answer, "\x04\x00\x00\x00text"...)
		topic := fmt.Sprintf("/hostile%d", i)
		peers.FakePublisher(g, "/node"+topic, topic, func(_ tcpros.Header, conn net.Conn) { conn.Write(answer) })
	}
}

// manyTopics writes a bag with 100 topics of long names. Each has a message every half
// second, for a minute.
func manyTopics(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "many.bag")
	w := bags.New(t, path)
	var conns []*rosbag.Connection
	for i := range 100 {
		topic := fmt.Sprintf("/robot%d/sensors/front_left_camera/image_rect_color/compressed%02d", i%7, i)
		if i == 50 {
			topic = "/" + strings.Repeat("a", 900)
		}
		c, err := w.AddConnection(topic, load.Header(topic))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	at := time.Unix(1_700_000_000, 0)
	for range 120 {
		for _, c := range conns {
			if err := w.Write(c, rosbag.TimeOf(at), []byte("\x04\x00\x00\x00text")); err != nil {
				t.Fatal(err)
			}
		}
		at = at.Add(500 * time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostileNames: types and file names that hold HTML, quotes, characters that turn
// the text around, or far too much, are text on both pages and cost no layout; what
// cannot be seen is written out. There are 100 topics.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	harness.Long(t, "Chromium takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	name := hostileTag + `"'&` + hostileTurn
	recorder, player := "127.0.0.1:"+harness.FreePort(t), "127.0.0.1:"+harness.FreePort(t)
	rec := g.Record("-a", "-x", "/rosout", "-O", name, "--http="+recorder)
	hostilePublishers(g)
	play := g.Start("goplay", "--loop", "--quiet", manyTopics(t), "--http="+player)
	for host, page := range map[string]string{recorder: "gorecord-100", player: "goplay-100"} {
		b := openBrowser(t, host)
		b.shows("#topics", "/robot1/sensors/front_left_camera/image_rect_color/compressed99")
		if host == recorder {
			const shown = hostileTag + `"'&\u{202e}gab\u{2066}.exe\u{200b}.bag`
			b.shows("#topics-count", "107")
			for _, want := range []string{hostileTag, `\u{202e}gab\u{2066}.exe\u{200b}`, "שלום/عالم"} {
				b.shows("#topics", want)
			}
			b.shows("#file", shown)
			b.click("#split")
			b.shows("#bags", shown)
			b.press("#bags summary") // the page moves while topics come
			b.shows("#bags .info", hostileTag)
		}
		b.fits(page)
		if got := b.eval(`[window.got, document.querySelectorAll("main img, main script, main [onmouseover], main a:not(.button, #live-how a)").length].join()`); got != ",0" {
			t.Errorf("%s: a name has become more than text: %s", page, got)
		}
		if text := b.eval(`/[\u202a-\u202e\u2066-\u2069\u200b]/.test(document.body.textContent + [...document.querySelectorAll("[title], [aria-label]")].map((e) => e.title + e.ariaLabel).join())`); text != "false" {
			t.Errorf("%s: what turns text around is in the page", page)
		}
		b.verdict()
	}
	play.Stop()
	rec.Signal(syscall.SIGINT)
	rec.Wait()
	if out := rec.Out.String(); strings.ContainsAny(out, "\u202e\u2066\u200b") {
		t.Error("what turns text around is in the log")
	}
}
