package picture_test

import (
	"image"
	"image/color"
	"math"
	"slices"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"

	"github.com/gorosbag/gorosbag/internal/view/picture"
	"github.com/gorosbag/gorosbag/rosbag"
)

// squares is a picture of squares of 4 x 4 pixels, in two levels of gray.
func squares(low, high uint8) sensor_msgs.Image {
	m := raw("mono8", 32, 32, 1, "")
	for y := range 32 {
		for x := range 32 {
			level := low
			if (x/4+y/4)%2 == 1 {
				level = high
			}
			m.Data = append(m.Data, level)
		}
	}
	return m
}

// solidRaw is a picture of one level, but for one pixel.
func solidRaw(level, other uint8) sensor_msgs.Image {
	m := squares(level, level)
	m.Data[40] = other
	return m
}

// noisy is a picture that is larger than what is measured, in which one pixel differs that is not looked at.
func noisy(level uint8) sensor_msgs.Image {
	m := raw("mono8", 960, 2, 1, "")
	for i := range 960 * 2 {
		m.Data = append(m.Data, uint8(i%960/4))
	}
	m.Data[2] = level
	return m
}

func figures(t *testing.T, msg any) picture.Figures {
	t.Helper()
	p, err := show(t, msg, picture.Options{Width: 320, Height: 320, Pixels: true})
	if err != nil {
		t.Fatal(err)
	}
	f, ok := p.Figures()
	if !ok {
		t.Fatal("no figures")
	}
	return f
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		msg                     any
		dark, bright, sharpness float64
	}{
		"black":         {raw("mono8", 3, 3, 1, "000000 000000 000000"), 1, 0, 0},
		"white":         {raw("rgb8", 1, 1, 3, "ffffff"), 0, 1, 0},
		"blue is dark":  {raw("rgb8", 2, 1, 3, "000080 00ff00"), 0.5, 0, 0},
		"a dot":         {raw("mono8", 4, 3, 1, "20202020 20402020 20202020"), 0, 0, 6400}, // Laplacians -128 and 32
		"a file":        {compressed("", file(t, "image/png", solid(8, 8, 250))), 0, 1, 0},
		"half and half": {squares(0, 255), 0.5, 0.5, 0},
	} {
		f := figures(t, tc.msg)
		if f.Dark != tc.dark || f.Bright != tc.bright || tc.sharpness > 0 && math.Abs(f.Sharpness-tc.sharpness) > 1e-9 {
			t.Errorf("%s: %+v, want dark %v, bright %v, sharpness %v", name, f, tc.dark, tc.bright, tc.sharpness)
		}
	}
	p, err := show(t, compressed("", file(t, "image/png", solid(8, 8, 250))), picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Figures(); ok {
		t.Error("figures of a picture that was not decoded")
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	blur := image.NewGray(image.Rect(0, 0, 32, 32))
	for i := range blur.Pix {
		blur.SetGray(i%32, i/32, color.Gray{Y: uint8(60 + 4*(i%32))})
	}
	sharp := func(i int) any { return squares(uint8(50+i), 200) }
	depth := func() any { return raw("16UC1", 2, 1, 2, "0000 0100") }
	type at struct {
		sec  uint32
		show any
	}
	many := func(from, to int, then ...at) (all []at) {
		for i := from; i < to; i++ {
			all = append(all, at{uint32(i), sharp(i)})
		}
		return append(all, then...)
	}
	for name, tc := range map[string]struct {
		added []at
		ask   uint32
		want  []picture.Hint
	}{
		"nothing":             {many(0, 9), 4, nil},
		"not added":           {many(0, 9), 100, nil},
		"dark":                {[]at{{1, squares(0, 15)}}, 1, []picture.Hint{{Word: "dark"}}},
		"overexposed":         {[]at{{1, squares(0, 255)}}, 1, []picture.Hint{{Word: "overexposed"}}},
		"blurred":             {many(0, 9, at{9, compressed("", file(t, "image/png", blur))}), 9, []picture.Hint{{Word: "blurred"}}},
		"blurred as others":   {[]at{{9, compressed("", file(t, "image/png", blur))}}, 9, nil},
		"frozen":              {many(0, 9, at{9, sharp(8)}, at{10, sharp(8)}, at{11, sharp(8)}), 11, []picture.Hint{{"frozen", 8}}},
		"frozen, added later": {append([]at{{11, sharp(8)}, {10, sharp(8)}}, many(0, 9)...), 11, []picture.Hint{{"frozen", 8}}},
		"frozen for 2 s":      {many(0, 9, at{9, sharp(8)}, at{10, sharp(8)}), 10, nil},
		"black is not frozen": {
			[]at{{1, solidRaw(0, 0)}, {9, solidRaw(0, 0)}}, 9, []picture.Hint{{Word: "dark"}, {"uniform", 1}},
		},
		"black that flickers":  {[]at{{1, solidRaw(0, 1)}, {9, solidRaw(0, 2)}}, 9, []picture.Hint{{Word: "dark"}}},
		"noise of full pixels": {[]at{{1, noisy(1)}, {9, noisy(2)}}, 9, nil},
		"gray":                 {many(0, 9, at{9, solidRaw(99, 99)}), 9, []picture.Hint{{Word: "uniform"}}},
		"depth is not dark":    {[]at{{1, depth()}}, 1, nil},
		"depth is frozen":      {[]at{{1, depth()}, {9, depth()}}, 9, []picture.Hint{{"frozen", 1}}},
	} {
		var h picture.History
		for _, a := range tc.added {
			h.Add(rosbag.Time{Sec: a.sec}, figures(t, a.show))
		}
		if got := h.Hints(rosbag.Time{Sec: tc.ask}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestHistoryIsBounded: what is far from where one looks is forgotten.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var h picture.History
	f := figures(t, squares(0, 15))
	for i := range uint32(600) {
		h.Add(rosbag.Time{Sec: 10_000 + i}, f)
	}
	h.Add(rosbag.Time{Sec: 1}, f)
	for at, known := range map[uint32]bool{1: true, 10_000: false, 10_087: false, 10_088: true, 10_598: true, 10_599: false} {
		if got := h.Hints(rosbag.Time{Sec: at}); (len(got) > 0) != known {
			t.Errorf("at %d: %v", at, got)
		}
	}
}
