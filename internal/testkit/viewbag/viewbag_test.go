package viewbag_test

import (
	"image"
	"image/color"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/testkit/viewbag"
	"github.com/gorosbag/gorosbag/internal/view/picture"
	"github.com/gorosbag/gorosbag/internal/view/scene"
	"github.com/gorosbag/gorosbag/rosbag"
)

// far returns how far a channel of a pixel is from what is wanted, at most.
func far(got color.Color, want color.RGBA) int {
	c, _ := color.RGBAModel.Convert(got).(color.RGBA)
	off := 0
	for _, d := range []int{int(c.R) - int(want.R), int(c.G) - int(want.G), int(c.B) - int(want.B)} {
		off = max(off, d, -d)
	}
	return off
}

// check compares a picture with its quarters, pixel by pixel.
func check(t *testing.T, want viewbag.Picture, img image.Image) {
	t.Helper()
	b := img.Bounds()
	if b.Dx() != want.Width || b.Dy() != want.Height {
		t.Errorf("%s: %v, want %d x %d", want.Topic, b, want.Width, want.Height)
		return
	}
	for y := range b.Dy() {
		for x := range b.Dx() {
			if c := want.Want[x*2/b.Dx()+y*2/b.Dy()*2]; far(img.At(x, y), c) > want.Off {
				t.Errorf("%s: pixel %d, %d is %v, want %v", want.Topic, x, y, img.At(x, y), c)
				return
			}
		}
	}
}

// TestPictures: the pictures of the bag are what it says.
func TestPictures(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "view.bag")
	pictures := viewbag.Write(t, path)
	r, err := bags.Open(t.Context(), path, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var types msgdef.Cache
	first := make(map[string]*rosbag.Message)
	others := make(map[string]scene.Kind)
	q := rosbag.NewSequence([]rosbag.File{rosbag.FileOf(path, r.Source)}, rosbag.SequenceOptions{})
	defer q.Close()
	for q.HasNext() {
		m, err := q.Next()
		if err != nil {
			t.Fatal(err)
		}
		if first[m.Conn.Topic] == nil {
			kept := *m
			first[m.Conn.Topic] = &kept
			typ, err := types.Of(m.Conn)
			if err != nil {
				t.Fatal(err)
			}
			others[m.Conn.Topic] = scene.KindOf(typ.Type)
		}
	}
	for _, want := range pictures {
		m := first[want.Topic]
		typ, err := types.Of(m.Conn)
		if err != nil {
			t.Fatal(err)
		}
		p, err := picture.For(typ.Type).Picture(m.Data(), picture.Options{Pixels: true})
		switch {
		case want.Error != "":
			if err == nil || !strings.Contains(err.Error(), want.Error) {
				t.Errorf("%s: %v, want %s", want.Topic, err, want.Error)
			}
		case err != nil:
			t.Errorf("%s: %v", want.Topic, err)
		default:
			check(t, want, p.Image)
		}
	}
	for topic, kind := range map[string]scene.Kind{
		"/map": scene.Grid, "/path": scene.Path, "/scan": scene.Points, "/cloud": scene.Points, "/odom": scene.Track, "/fix": scene.Track, "/tf": scene.Tree,
		"/tf_static": scene.Tree, "/loop": scene.Tree, "/diagnostics": scene.Levels, "/rosout": scene.Log, "/hostile/cloud": scene.Points, "/hostile/map": scene.Grid,
	} {
		if others[topic] != kind {
			t.Errorf("%s: %q, want %q", topic, others[topic], kind)
		}
	}
}
