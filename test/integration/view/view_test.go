package view_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	pages "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
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
			p.shows("#node", filepath.Base(bags.Demo(t)))
			p.choose("/odom")
			p.shows("#message-panel h2", "/odom")
			p.shows(".tree", "child_frame_id")
			p.until("the yaw has a value", `[...document.querySelectorAll(".leaf")].some((l) => l.querySelector(".key").textContent === "yaw" && /^-?[\d.]+°$/.test(l.querySelector(".text").textContent))`)
			p.until("the stamp is a time as on the ruler", `/\d  \d\d:\d\d:\d\d$/.test([...document.querySelectorAll(".leaf")].find((l) => l.querySelector(".key").textContent === "stamp").querySelector(".text").textContent)`)
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

// TestStopped: a topic that has stopped says so at first sight; one that comes now and then does not.
func TestStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stopped.bag")
	w := bags.New(t, path)
	for topic, sends := range map[string]func(tenth int) bool{
		"/steady": func(int) bool { return true }, "/stopped": func(n int) bool { return n < 50 }, "/event": func(n int) bool { return n/10%4 == 0 },
	} {
		c, err := w.AddConnection(topic, rosbag.Header{
			{Key: "type", Value: "std_msgs/Float64"},
			{Key: "md5sum", Value: "fdb28210bfa9d7c91146260178d9a584"},
			{Key: "message_definition", Value: "float64 data\n"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			at := rosbag.Time{Sec: 1000}.Add(time.Duration(n) * 100 * time.Millisecond)
			if !sends(n) {
				continue
			}
			if err := w.Write(c, at, make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t, path), 390, 844)
	facts := func(topic string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(".row")].find((r) => r.firstChild.textContent === %q)?.lastChild.textContent ?? ""`, topic)
	}
	p.until("the topics are there", `document.querySelectorAll(".row").length === 3`)
	for topic, want := range map[string]string{"/stopped": "10.0 Hz · stopped at 4.9 s", "/steady": "10.0 Hz", "/event": "10.0 Hz · 3 gaps"} {
		if got := p.eval(facts(topic)); got != want {
			t.Errorf("%s: %q, want %q", topic, got, want)
		}
	}
	p.fits("stopped")
}

// writeTrouble writes a bag of 70 s: /imu comes at 50 Hz, at 1 Hz from 30 to 45 s if slow is set, and not from 50 to 60 s if
// silent is; /odom comes at 10 Hz, and stops at 66 s; /joy now and then; marks name both.
func writeTrouble(t *testing.T, slow, silent bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trouble.bag")
	w := bags.New(t, path)
	conns := map[string]*rosbag.Connection{}
	for _, topic := range []string{"/imu", "/odom", "/joy", "/gorecord/marks"} {
		typ, md5, definition := "std_msgs/Float64", "fdb28210bfa9d7c91146260178d9a584", "float64 data\n"
		if topic == "/gorecord/marks" {
			typ, md5, definition = "std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1", "string data\n"
		}
		var err error
		if conns[topic], err = w.AddConnection(topic, rosbag.Header{{Key: "type", Value: typ}, {Key: "md5sum", Value: md5}, {Key: "message_definition", Value: definition}}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3500 {
		second := n / 50
		write := func(topic string, payload []byte) {
			if err := w.Write(conns[topic], rosbag.Time{Sec: 1000}.Add(time.Duration(n)*20*time.Millisecond), payload); err != nil {
				t.Fatal(err)
			}
		}
		if sparse := slow && second >= 30 && second < 45; (!sparse || n%50 == 0) && (!silent || second < 50 || second >= 60) {
			write("/imu", make([]byte, 8))
		}
		if n%5 == 0 && second < 66 {
			write("/odom", make([]byte, 8))
		}
		if n%70 == 0 || n%331 == 0 || n%333 == 0 {
			write("/joy", make([]byte, 8))
		}
		switch n {
		case 250, 260, 270, 280:
			write("/gorecord/marks", bags.StringData(fmt.Sprintf("slow /odom: a long text of the mark number %d", n)))
		case 2600:
			write("/gorecord/marks", bags.StringData("silent /imu: 2 s"))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// tap taps a row or the ruler at a time, which is seen, as a finger does.
func (p *page) tap(topic string, at float64) {
	p.t.Helper()
	p.until("the address has what is shown", `location.hash.includes("from=")`)
	p.eval(fmt.Sprintf(`(() => {
		const rows = document.querySelector("#rows"), row = [...document.querySelectorAll(".row")].find((r) => r.firstChild.textContent === %q);
		const box = (row ?? document.querySelector("#ruler")).getBoundingClientRect(), wide = innerWidth > 720;
		const shown = new URLSearchParams(location.hash.slice(1)), from = Number(shown.get("from")), to = Number(shown.get("to"));
		const [left, width] = wide ? [300, rows.clientWidth - 314] : [10, rows.clientWidth - 20];
		const clientX = rows.getBoundingClientRect().left + left + (%g - from) / (to - from) * width;
		for (const type of ["pointerdown", "pointerup"]) {
			(row ? rows : document.querySelector("#ruler")).dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, pointerType: "touch", clientX, clientY: box.bottom - 8 }));
		}
	})()`, topic, at))
}

// pixels is an expression: how many pixels of the rows have a color.
func pixels(r, g, b int) string {
	return fmt.Sprintf(`(() => {
		const c = document.querySelector(".density");
		if (!c?.width || !c.height) return 0;
		const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(c, 0, 0);
		const d = copy.getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (d[i] === %d && d[i + 1] === %d && d[i + 2] === %d && d[i + 3] === 255) n++;
		return n;
	})()`, r, g, b)
}

// TestTrouble: what gobag gaps finds is seen, leads the list, and says what it is; a slow topic does not look like a silent
// one, and one that comes now and then like neither.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for name, width := range widths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := open(t, serve(t, writeTrouble(t, true, false))+"#from=30&to=46&at=0", width, 900)
			slow.until("the slow topic is marked", pixels(138, 90, 0)+" > 50")
			slow.until("the exact times are there", `performance.getEntriesByType("resource").some((r) => r.name.includes("density") && r.name.includes("exact"))`)
			if red := slow.eval(pixels(179, 38, 30)); red != "0" {
				t.Errorf("%s pixels of a slow topic are those of a gap", red)
			}
			slow.fits("slow-" + name)

			p := open(t, serve(t, writeTrouble(t, true, true)), width, 900)
			p.until("the gaps are seen", pixels(179, 38, 30)+" > 50")
			p.until("the longest silence is said first", `/^(gap of 10\.02|\/imu silent)/.test(document.querySelector("#events summary").textContent)`)
			p.choose("/imu")
			p.until("what was wrong with the topic is first", `(() => {
				const texts = [...document.querySelectorAll("#event-list li")].map((li) => li.textContent);
				const place = (text) => texts.findIndex((line) => line.includes(text));
				return (place("10.02") === 0 || place("/imu silent") === 0) && place("/imu slow") === 1 && place("silent /imu") === 2 && place("/odom silent") === 3 && place("slow /odom") === 4 && place("/joy") < 0;
			})()`)
			p.tap("/imu", 55)
			p.shows("#said", "/imu: no message for 10.0")
			p.shows("#position", "+5")
			p.tap("/imu", 35)
			p.shows("#said", "/imu slow: ")
			p.tap("", 52)
			p.shows("#said", "mark: silent /imu: 2 s")
			p.eval(`document.querySelector("#events").open = true; [...document.querySelectorAll("#event-list button")].find((b) => b.parentElement.textContent.includes("/odom silent")).click()`)
			p.shows("#message-panel h2", "/odom")
			p.shows("#position", "+65.")
			p.fits("trouble-" + name)
		})
	}
}

// typeInto types a text into a field.
func (p *page) typeInto(selector, text string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(() => {
		const field = document.querySelector(%q);
		field.value = %q;
		field.dispatchEvent(new Event("change"));
	})()`, selector, text))
}

// TestTyped: a time can be typed, and begin and length of a part; a mark catches a tap on its triangle only.
func TestTyped(t *testing.T) {
	t.Parallel()
	for name, width := range widths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, serve(t, writeTrouble(t, false, true)), width, 900)
			p.shows("#link", "70.0 s")
			p.typeInto("#goto", "+12.5")
			p.shows("#position", "+12.500 s")
			p.typeInto("#goto", p.eval(`new Date(1020 * 1000).toTimeString().slice(0, 8)`)+".25")
			p.shows("#position", "+20.250 s")
			p.typeInto("#goto", "500")
			p.shows("#said", "up to 70.0")
			p.shows("#position", "+20.250 s")

			p.eval(`document.querySelector("#region").click()`)
			p.until("5 s around the playhead are selected", `document.querySelector("#cut-from").value === "17.750" && document.querySelector("#cut-for").value === "5"`)
			p.typeInto("#cut-from", "40")
			p.typeInto("#cut-for", "7.5")
			p.until("the typed part is selected", `(() => {
				const q = new URL(document.querySelector("#cut-download").href).searchParams;
				return Number(q.get("from")) === 40 && Number(q.get("to")) === 47.5;
			})()`)
			p.shows("#cut-what", "messages")
			p.eval(`document.querySelector("#region").click()`)

			p.tap("", 51.9)
			p.shows("#position", "+52.000 s") // the mark
			p.tap("/joy", 51.9)
			p.until("a tap on a row is where it is", `/\+51\.[89]\d\d s/.test(document.querySelector("#position").textContent)`)
			p.tap("", 5.47)
			p.shows("#position", "+5.400 s") // the nearest of four marks
			p.fits("typed-" + name)
		})
	}
}

// TestFold: a tap on a camera on a phone shows its picture.
func TestFold(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t, bags.Demo(t)), 390, 450)
	p.choose("/camera/image/compressed")
	p.until("the picture is seen", `(() => {
		const box = document.querySelector(".shown canvas").getBoundingClientRect();
		return box.height > 100 && box.top >= 0 && box.bottom <= innerHeight + 1;
	})()`)
	p.eval("scrollTo(0, 0)")
	p.tap("/camera/image/compressed", 3)
	p.shows("#picture-title", "+2.")
	if p.eval("scrollY < 50") != "true" { // the first scrolling may end by a pixel
		t.Errorf("a tap that moves the playhead scrolls to %s", p.eval("scrollY"))
	}
}

// TestOpening: the page says how far the opening of bags is, and then shows them.
func TestOpening(t *testing.T) {
	t.Parallel()
	address := serve(t, bags.Demo(t))
	p := open(t, "about:blank", 390, 844)
	p.visit(address)
	if _, err := chromedp.Call(p.ctx, pages.AddScriptToEvaluateOnNewDocument, pages.AddScriptToEvaluateOnNewDocumentParams{Source: `{
		const real = fetch;
		window.fetch = async (a, o) => !window.opened && a.endsWith("/state")
			? new Response('{"opening":{"name":"Reading big.bag","done":34000000000,"total":100000000000}}') : real(a, o);
	}`}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(p.ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	p.shows("#rows-none", "Reading big.bag: 34 % of 93.1 GiB")
	p.eval("window.opened = true")
	p.choose("/odom")
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

// imageDefinition is that of sensor_msgs/Image.
const imageDefinition = "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n" +
	"================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

// image is a message of type sensor_msgs/Image.
func image(encoding string, width, height, step int, data []byte) []byte {
	number := func(b []byte, v int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) }
	b := number(make([]byte, 16), height)
	b = append(number(number(b, width), len(encoding)), encoding...)
	b = number(number(append(b, 0), step), len(data))
	return append(b, data...)
}

// TestPictures: a picture is the one of the message, pixel by pixel; what cannot be shown has a text in its place.
func TestPictures(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "images.bag")
	w := bags.New(t, path)
	for topic, payload := range map[string][]byte{
		"/bgr":   image("bgr8", 2, 2, 8, []byte{0, 0, 255, 0, 255, 0, 9, 9, 255, 0, 0, 1, 2, 3, 9, 9}),
		"/depth": image("16UC1", 2, 1, 4, []byte{0xe8, 3, 0xd0, 7}),
		"/huge":  image("rgb8", 65535, 65535, 3*65535, nil),
		"/odd":   image("<b>odd</b>", 2, 2, 2, make([]byte, 4)),
	} {
		c, err := w.AddConnection(topic, rosbag.Header{
			{Key: "type", Value: "sensor_msgs/Image"}, {Key: "md5sum", Value: "060021388200f6f0f447d0fcd9c64743"}, {Key: "message_definition", Value: imageDefinition},
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint32(8) {
			if err := w.Write(c, rosbag.Time{Sec: 1000 + n}, payload); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t, path), 1280, 900)
	p.refuses() // pictures that cannot be shown: the browser notes these answers
	pixels := `[...(() => { const c = document.querySelector(".shown canvas"); 
		if (c.hidden) return [];
		const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(c, 0, 0);
		return copy.getImageData(0, 0, c.width, c.height).data;
	})()].join()`
	p.choose("/bgr")
	p.until("the picture is that of the message", pixels+` === "255,0,0,255,0,255,0,255,0,0,255,255,3,2,1,255"`)
	p.eval(`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }))`)
	p.shows(".hints", "frozen since")
	p.until("small pictures are there", `[...document.querySelectorAll(".thumbs canvas")].some((c) => c.width === 2)`)
	p.choose("/depth")
	p.shows(".hints", "black 1000 to white 2000 mm")
	p.until("the range is shown", pixels+` === "1,1,1,255,255,255,255,255"`)
	p.choose("/huge")
	p.shows(".shown .problem", "too large")
	p.choose("/odd")
	p.shows(".shown .problem", "<b>odd</b>")
	p.fits("pictures")
}

// TestScenes shows what is no picture and no plot.
func TestScenes(t *testing.T) {
	t.Parallel()
	for name, width := range widths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, serve(t, bags.Demo(t)), width, 900)
			p.choose("/scan")
			p.key("End")
			for _, s := range []struct{ topic, title, note, list string }{
				{"/scan", "From above", "180 points", ""},
				{"/map", "Map", "64 × 64 cells", ""},
				{"/odom", "Track", "500 positions", ""},
				{"/tf", "Frames", "", "base_footprint"},
				{"/diagnostics", "Diagnostics", "", "discharging"},
			} {
				p.choose(s.topic)
				p.shows("#picture-title", s.title)
				if s.note != "" {
					p.shows("#picture-panel .card > div:last-child .hints", s.note)
					p.until("the scene of "+s.topic+" is drawn", drawn("#picture-panel .view-canvas"))
				} else {
					p.shows("#picture-panel .list", s.list)
				}
				p.fits("scene-" + s.title + "-" + name)
			}
		})
	}
}

// TestCompare shows the same field of two bags, each from its own start.
func TestCompare(t *testing.T) {
	t.Parallel()
	second := filepath.Join(t.TempDir(), "second.bag")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(harness.Bin(), "gobag"), "filter", "-q", "-s", "3", bags.Demo(t), second).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address := serve(t, bags.Demo(t), second)
	p := open(t, address+"#topic=/odom&at=2&f=/odom|pose.pose.position.x", 1280, 900)
	p.shows("#against", "second.bag")
	p.eval(`document.querySelector("#against").value = "1"; document.querySelector("#against").dispatchEvent(new Event("change")); 1`)
	p.until("the values of both bags are there", `(() => {
		const all = [...document.querySelectorAll(".legend li")];
		return all.length === 2 && all[1].textContent.includes("second.bag") && all.every((li) => li.querySelector("b").textContent !== "");
	})()`)
	p.until("the values differ", `new Set([...document.querySelectorAll(".legend b")].map((b) => b.textContent)).size === 2`)
	p.fits("compare")
}

// TestMany: 500 topics with 400,000 messages, on a phone; a search finds the spike.
func TestMany(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "many.bag")
	w := bags.New(t, path)
	var all []*rosbag.Connection
	for n := range 500 {
		c, err := w.AddConnection(fmt.Sprintf("/robot/topic_%03d", n), rosbag.Header{
			{Key: "type", Value: "std_msgs/Float64"}, {Key: "md5sum", Value: "fdb28210bfa9d7c91146260178d9a584"}, {Key: "message_definition", Value: "float64 data\n"},
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	const messages = 400_000
	for n := range messages {
		c, value := all[n%500], 1.0
		if n%3 == 0 {
			c = all[0]
		}
		if n == 123_456 {
			value = 1000
		}
		if err := w.Write(c, rosbag.Time{Sec: 1000}.Add(time.Duration(n)*time.Millisecond), binary.LittleEndian.AppendUint64(nil, math.Float64bits(value))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t, path)+"#topic=/robot/topic_000&f=/robot/topic_000|data", 390, 844)
	p.until("all topics are there", `document.querySelector(".row")?.getAttribute("aria-setsize") === "500"`)
	p.until("the time line is drawn", drawn(".density"))
	p.until("the plot is drawn", drawn("#plot-panel canvas"))
	p.eval(`document.querySelector("#search").value = "m.data > 100"; document.querySelector("[aria-label='Search forwards']").click()`)
	p.shows(".legend b", "1000")
	p.eval(`document.querySelector("#rows").scrollTop = 1e6`)
	p.until("the last topics are drawn", drawn(".density"))
	p.fits("many")
}
