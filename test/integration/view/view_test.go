package view_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// widths are a desk and a phone.
var widths = map[string]int64{"desk": 1280, "phone": 390}

// TestLook looks at a bag: its topics, one message, the next one, a plot, a search, and a part to cut.
func TestLook(t *testing.T) {
	t.Parallel()
	for name, width := range widths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, serve(t, bags.Demo(t)), width, 900)
			p.choose("/odom")
			p.shows("#message-panel h2", "/odom")
			p.shows(".tree", "child_frame_id")
			before := p.text("#message-panel .line .mono")
			p.key("n")
			p.until("the next message is there", fmt.Sprintf("document.querySelectorAll('#message-panel .line .mono')[0].textContent !== %q", before))
			p.eval(`document.querySelector("[aria-label='Plot pose.pose.position.x']").click()`)
			p.shows(".legend", "pose.pose.position.x")
			p.until("the plot is drawn", drawn("#plot-panel canvas"))
			p.until("the value at the playhead is there", `document.querySelector(".legend b").textContent !== ""`)
			at := p.text("#position")
			p.eval(`document.querySelector("#search").value = "m.pose.pose.position.x > 0.5"; document.querySelector("[aria-label='Search forwards']").click()`)
			p.until("the search has found something", fmt.Sprintf("document.querySelector('#position').textContent !== %q", at))
			p.key("[")
			p.shows("#cut-what", "messages")
			p.until("the part can be downloaded", `document.querySelector("#cut-download").href.includes("/api/v1/view/cut?from=")`)
			p.fits("look-" + name)
		})
	}
}

// drawn is an expression: whether something is on a canvas.
func drawn(selector string) string {
	return fmt.Sprintf(`(() => {
		const c = document.querySelector(%q);
		const empty = document.createElement("canvas");
		[empty.width, empty.height] = [c.width, c.height];
		return c.width > 0 && c.toDataURL() !== empty.toDataURL();
	})()`, selector)
}

// hostile is what a message says that attacks the page.
const hostile = `<img src=x onerror="alert(1)"><script>window.attacked = true</script>` + "\u202e"

// TestHostile: what messages say becomes text.
func TestHostile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hostile.bag")
	w := bags.New(t, path)
	c, err := w.AddConnection("/<b>topic</b>", rosbag.Header{
		{Key: "type", Value: "std_msgs/String"}, {Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"}, {Key: "message_definition", Value: "string data\n"}, {Key: "callerid", Value: "/<i>node</i>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(3) {
		if err := w.Write(c, rosbag.Time{Sec: 1000 + n}, bags.StringData(hostile)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t, path), 1280, 900)
	p.choose("/<b>topic</b>")
	p.shows(".tree", "<script>")
	p.eval(`document.querySelector("[aria-label='Plot data']").click()`)
	p.until("the plot is drawn", drawn("#plot-panel canvas"))
	if found := p.eval(`window.attacked === true || document.querySelector("main b.topic, main img, main script, main i") !== null`); found != "false" {
		t.Error("the text of a message became a part of the page")
	}
}
