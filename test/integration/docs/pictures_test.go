//go:build unix

package docs_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/terminal"
)

// The pictures of README and docs, taken from the programs while gorecord records the demo bag,
// which goplay repeats. make pictures writes them to docs/img; otherwise the test only checks
// that they can be taken.
func TestPictures(t *testing.T) {
	harness.Long(t, "fills the charts of the web page for a minute")
	t.Parallel()
	dir := t.TempDir()
	if *update {
		dir = filepath.Join(root, "docs", "img")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	g.Env = append(g.Env, "GORECORD_HTTP="+host, "GORECORD_MIN_SPACE=100M")
	demo, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "demo.bag"), demo, 0o600); err != nil {
		t.Fatal(err)
	}

	const play, record = "goplay demo.bag --loop=shift", "gorecord -a --lz4 --split -O run1"
	player := terminal.Open(g, 92, 22)
	player.Keys(play, "Enter")
	player.Shows("/imu/data")
	recorder := terminal.Open(g, 92, 22)
	recorder.Keys(record, "Enter")
	recorder.Shows("/imu/data : sensor_msgs/Imu")

	b := openPage(t, host)
	b.until(`0:00:[2-5]\d`)
	recorder.Keys("s")
	recorder.Shows("run1_1.bag")
	b.until(`0:01:`)

	topics := []string{"/imu/data", "/odom", "/scan", "/tf", "/camera/image/compressed", "/map"}
	save(t, filepath.Join(dir, "gorecord.svg"), terminalSVG(t, record, frame(t, recorder, "RECORDING")), append(topics, "RECORDING", "run1_1.bag", "pause"))
	player.Matches(`RUNNING 0:0[4-6]`)
	save(t, filepath.Join(dir, "goplay.svg"), terminalSVG(t, play, frame(t, player, "RUNNING")), append(topics, "RUNNING", "pause"))
	picture := b.screenshot()
	save(t, filepath.Join(dir, "web.png"), picture, nil)
	config, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || config.Width != pageWidth*pageScale || config.Height < config.Width/2 || len(picture) < 20_000 || len(picture) > 150_000 {
		t.Errorf("the picture of the page is %dx%d, %d bytes: %v", config.Width, config.Height, len(picture), err)
	}
}

// TestViewPicture takes the picture of gobag view, as TestPictures does those of the other programs.
func TestViewPicture(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "view.png")
	if *update {
		path = filepath.Join(root, "docs", "img", "view.png")
	}
	g := harness.NewGraph(t, "gomaster")
	host := "127.0.0.1:" + harness.FreePort(t)
	g.Start("gobag", "view", bags.Demo(t), "--http="+host).Printed("http://")
	b := openPage(t, host+"/#topic=/camera/image/compressed&at=4.2&f=/odom|pose.pose.position.x&f=/odom|twist.twist.linear.x&x=")
	harness.Eventually(t, "the page shows a picture and two plots", func() bool {
		ready, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.querySelector(".hints")?.textContent.includes("64 × 48") &&
			[...document.querySelectorAll(".thumbs canvas")].every((c) => c.width === 64) && [...document.querySelectorAll(".legend b")].filter((v) => v.textContent).length === 2`))
		if err != nil {
			t.Fatal(err)
		}
		return ready
	})
	picture := b.screenshot()
	save(t, path, picture, nil)
	if config, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || config.Width != pageWidth*pageScale || len(picture) < 20_000 {
		t.Errorf("the picture of the page is %dx%d, %d bytes: %v", config.Width, config.Height, len(picture), err)
	}
}

// save writes a picture, after checking that it shows these texts.
func save(t *testing.T, path string, picture []byte, texts []string) {
	t.Helper()
	if filepath.Ext(path) == ".svg" {
		shown := textOf(t, picture)
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				t.Errorf("%s does not show %q:\n%s", path, text, shown)
			}
		}
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// textOf returns the text in an SVG, which must be well-formed.
func textOf(t *testing.T, svg []byte) string {
	t.Helper()
	var text strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, svg)
		}
		if data, ok := token.(xml.CharData); ok {
			text.Write(data)
		}
	}
}

// frame returns the live screen in a terminal with its colors, without the log above it: from the
// line that shows the state on.
func frame(t *testing.T, tm *terminal.Terminal, state string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimRight(tm.Do("capture-pane", "-e", "-p"), "\n"), "\n")
	for i, line := range lines {
		if strings.Contains(line, state) {
			return lines[i:]
		}
	}
	t.Fatalf("no %s in:\n%s", state, strings.Join(lines, "\n"))
	return nil
}

// The size of the picture of the page. A scale of 2 keeps text sharp on most screens.
const pageWidth, pageScale = 1000, 2

// page is the web page of a program in Chromium.
type page struct {
	t   *testing.T
	ctx context.Context
}

func openPage(t *testing.T, host string) page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(harness.NeedChromium(t)), chromedp.NoSandbox)
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Timeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(pageWidth, pageWidth*3/4, chromedp.EmulateScale(pageScale)), chromedp.Navigate("http://"+host+"/")); err != nil {
		t.Fatal(err)
	}
	return page{t, ctx}
}

// until waits until the clock of the page matches.
func (p page) until(expression string) {
	p.t.Helper()
	re := regexp.MustCompile(expression)
	harness.Eventually(p.t, "the clock shows "+expression, func() bool {
		clock, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.querySelector("#clock").textContent`))
		if err != nil {
			p.t.Fatal(err)
		}
		return re.MatchString(clock)
	})
}

// screenshot returns a PNG of the whole page.
func (p page) screenshot() []byte {
	p.t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		p.t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, indexed(full)); err != nil {
		p.t.Fatal(err)
	}
	return small.Bytes()
}

// indexed returns a picture with its 256 most frequent colors. A page has hardly more, but for the
// edges of letters, and its file is less than half as large.
func indexed(picture image.Image) *image.Paletted {
	counts := map[color.Color]int{}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	small := image.NewPaletted(picture.Bounds(), colors[:min(256, len(colors))])
	draw.Draw(small, small.Bounds(), picture, picture.Bounds().Min, draw.Src)
	return small
}
