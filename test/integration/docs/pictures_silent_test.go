//go:build unix

package docs_test

import (
	"bytes"
	"image"
	"image/png"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/terminal"
)

// phoneWidth is the width of the page on a phone.
const phoneWidth = 390

// phoneHeight shows the page down to the first topics.
const phoneHeight = 1010

// top returns the upper part of a picture.
func top(t *testing.T, picture []byte, height int) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	var part bytes.Buffer
	sub, ok := full.(*image.Paletted)
	if !ok {
		t.Fatalf("the picture is a %T", full)
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&part, sub.SubImage(image.Rect(0, 0, full.Bounds().Dx(), height))); err != nil {
		t.Fatal(err)
	}
	return part.Bytes()
}

// TestPicturesOfASilentSensor takes the pictures of the screen, and of the page on a phone, after a driver was killed. Both
// begin with it within five seconds, in red, and the row of the topic comes first.
func TestPicturesOfASilentSensor(t *testing.T) {
	harness.Long(t, "needs Chromium, and plays until a topic is known to be regular")
	t.Parallel()
	dir := t.TempDir()
	if *update {
		dir = filepath.Join(root, "docs", "img")
	}
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	g.Env = append(g.Env, "GORECORD_HTTP="+host, "GORECORD_MIN_SPACE=100M")
	g.Start("goplay", bags.Demo(t), "--loop=shift", "--no-screen", "__name:=robot",
		"--topics", "/odom", "/scan", "/tf", "/tf_static", "/camera/image/compressed", "/map", "/diagnostics")
	driver := g.Start("goplay", bags.Demo(t), "--loop=shift", "--no-screen", "__name:=imu_driver", "--topics", "/imu/data")

	const record = "gorecord -a --lz4 -O run1"
	recorder := terminal.Open(g, 92, 22)
	recorder.Keys(record, "Enter")
	recorder.Shows("/imu/data : sensor_msgs/Imu")
	b := openPage(t, host)
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(phoneWidth, 2*phoneWidth, chromedp.EmulateScale(pageScale))); err != nil {
		t.Fatal(err)
	}
	b.until(`0:00:(1[2-9]|[2-5]\d)`)

	driver.Signal(syscall.SIGKILL)
	killed := time.Now()
	first := func(selector string) string {
		text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector("`+selector+`")?.textContent ?? ""`))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	harness.Eventually(t, "the page begins with the silent topic", func() bool {
		return strings.HasPrefix(first("main > ul.wrong:not([hidden])"), "1 topic is silent: /imu/data for ")
	})
	if took := time.Since(killed); took > 5*time.Second {
		t.Errorf("the page shows it after %v", took)
	}
	if row := first("#topics tbody tr .name"); row != "/imu/data" {
		t.Errorf("the first row is that of %s", row)
	}
	if state := first("tr.wrong .type"); !regexp.MustCompile(`^silent for .* \(publisher gone\)$`).MatchString(state) {
		t.Errorf("the row says %q", state)
	}
	harness.Eventually(t, "12 s have passed", func() bool { return strings.Contains(first("ul.wrong"), " 12 s ") })
	save(t, filepath.Join(dir, "silent.png"), top(t, b.screenshot(), phoneHeight*pageScale), nil)
	recorder.Shows("1 silent")
	save(t, filepath.Join(dir, "silent.svg"), terminalSVG(t, record, frame(t, recorder, "RECORDING")), []string{"1 silent", "/imu/data silent for", "publisher gone", "latched"})
}
