package view_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit/viewbag"
)

// TestEveryPicture opens a bag with every encoding and compares what is in the canvas, pixel by pixel. Pictures that cannot
// be shown say why in their place.
func TestEveryPicture(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "view.bag")
	pictures := viewbag.Write(t, path)
	p := open(t, serve(t, path), 1280, 900)
	p.refuses()
	for _, want := range pictures {
		p.choose(want.Topic)
		if want.Error != "" {
			p.until(want.Topic+" says "+want.Error, fmt.Sprintf(
				`(() => { const e = document.querySelector("#picture-panel .problem"); return e.checkVisibility() && e.textContent.includes(%q); })()`, want.Error))
			continue
		}
		p.until(want.Topic+" is shown", fmt.Sprintf(
			`(() => { const c = document.querySelector("#picture-panel .shown canvas"); return c.checkVisibility() && (c.getAttribute("aria-label") || "").startsWith("Picture of %s at"); })()`, want.Topic))
		var got struct {
			Width, Height int
			Pixels        []int // red, green, blue, alpha
		}
		text := p.eval(`(() => {
			const c = document.querySelector("#picture-panel .shown canvas");
			const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
			copy.drawImage(c, 0, 0);
			return JSON.stringify({ width: c.width, height: c.height, pixels: [...copy.getImageData(0, 0, c.width, c.height).data] });
		})()`)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Width != want.Width || got.Height != want.Height {
			t.Errorf("%s: %d x %d pixels, want %d x %d", want.Topic, got.Width, got.Height, want.Width, want.Height)
			continue
		}
		checkPixels(t, want, got.Pixels)
	}
	p.fits("picture")
}

func checkPixels(t *testing.T, want viewbag.Picture, pixels []int) {
	t.Helper()
	for i := 0; i+3 < len(pixels); i += 4 {
		x, y := i/4%want.Width, i/4/want.Width
		c := want.Want[x*2/want.Width+y*2/want.Height*2]
		for j, v := range []uint8{c.R, c.G, c.B, 255} {
			if d := pixels[i+j] - int(v); d > want.Off || d < -want.Off {
				t.Errorf("%s: pixel %d, %d is %v, want %v", want.Topic, x, y, pixels[i:i+4], c)
				return
			}
		}
	}
}

// TestEveryScene opens each kind of scene, and what is hostile in them: texts stay texts, and what is wrong is said.
func TestEveryScene(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "view.bag")
	viewbag.Write(t, path)
	p := open(t, serve(t, path), 390, 844)
	p.refuses()
	for _, tc := range []struct {
		topic, shows string // a text in the panel
		drawn        bool   // a canvas has something to see
	}{
		{"/scan", "3 of 4 points", true},
		{"/cloud", "4 points", true},
		{"/map", "4 × 2 cells of 0.5 m", true},
		{"/path", "20 positions", true},
		{"/odom", "100 positions", true},
		{"/fix", "10 positions", true},
		{"/tf", "base_link", false},
		{"/tf", viewbag.Script, false}, // a frame of /tf_static
		{"/loop", "a loop, in which each is the parent of the next", false},
		{"/loop", "d has several parents", false},
		{"/diagnostics", viewbag.Script, true},
		{"/rosout", "line 0 " + viewbag.Script, false},
		{"/hostile/cloud", "field y of a cloud has 4 bytes at 4000000000, and a point has 12", false},
		{"/hostile/map", "map of 4294967295 x 4294967295 cells with 8 values", false},
	} {
		p.choose(tc.topic)
		p.shows("#picture-panel", tc.shows)
		if tc.drawn {
			p.until(tc.topic+" is drawn", `(() => {
				const c = [...document.querySelectorAll("#picture-panel canvas")].find((e) => e.checkVisibility());
				if (!c) return false;
				const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
				copy.drawImage(c, 0, 0);
				const data = copy.getImageData(0, 0, c.width, c.height).data, colors = new Set();
				for (let i = 0; i < data.length; i += 4) colors.add(data[i] + " " + data[i + 1] + " " + data[i + 2] + " " + data[i + 3]);
				return colors.size > 3;
			})()`)
		}
		p.fits("scene-" + strings.Trim(strings.ReplaceAll(tc.topic, "/", "-"), "-"))
	}
	if hacked := p.eval("document.title + document.querySelectorAll('img').length"); strings.Contains(hacked, "hacked") || !strings.HasSuffix(hacked, "0") {
		t.Errorf("a text of a message became a part of the page: %s", hacked)
	}
}

// TestHints: words beside the pictures of cameras that are dark, frozen and out of focus, and none beside a good one.
func TestHints(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "view.bag")
	viewbag.Write(t, path)
	p := open(t, serve(t, path), 1280, 900)
	for topic, word := range map[string]string{"/camera/dark": "dark", "/camera/frozen": "frozen since", "/camera/blurred": "blurred"} {
		p.choose(topic)
		p.key("End")
		p.shows("#picture-panel .hints", word)
	}
	p.choose("/camera/good")
	p.until("the good camera is shown", `document.querySelector("#picture-panel .shown canvas").getAttribute("aria-label")?.startsWith("Picture of /camera/good") === true`)
	p.until("it has facts and no hints", `document.querySelectorAll("#picture-panel .hints .odd").length === 0 && document.querySelectorAll("#picture-panel .hints li").length > 0`)
	p.until("the strip has pictures", `[...document.querySelectorAll("#picture-panel .thumbs canvas")].every((c) => c.width === 64)`)
}

// TestThumbnails: the rows of topics with pictures show these.
func TestThumbnails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "view.bag")
	viewbag.Write(t, path)
	p := open(t, serve(t, path), 1280, 900)
	p.eval(`{ const f = document.getElementById("filter"); f.value = "/camera/dark"; f.dispatchEvent(new Event("input")); 1; }`)
	p.choose("/camera/dark")
	p.until("the row shows what the camera sees", `(() => {
		const c = document.querySelector("#rows canvas");
		if (!c?.width) return false;
		const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(c, 0, 0);
		const data = copy.getImageData(300, 5, c.width - 300, 22).data;
		let dark = 0;
		for (let i = 0; i < data.length; i += 4) if (data[i] < 16 && data[i + 1] < 16 && data[i + 2] < 16 && data[i + 3] === 255) dark++;
		return dark > 1000;
	})()`)
	p.fits("thumbnails")
}
