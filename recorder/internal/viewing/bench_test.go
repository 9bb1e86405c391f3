package viewing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/recorder/internal/viewing"
)

// BenchmarkFrames is what a run of 16 messages of 1 kB costs a link beside the recording. Viewers take
// what is there each 64 runs, as one that keeps up does.
func BenchmarkFrames(b *testing.B) {
	all, count := run(strings.Split(strings.Repeat(strings.Repeat("x", 1000)+" ", 16), " ")[:16]...)
	for _, viewers := range []int{-1, 0, 1, 8} {
		b.Run(fmt.Sprint("viewers=", viewers), func(b *testing.B) {
			tp := viewing.New(viewing.Options{})
			if viewers < 0 { // no tap at all
				tp = nil
			}
			l := tp.Link("/t", header("/a", text, false), &sink{})
			var attached []*live.Viewer
			for range viewers {
				v, err := tp.Source().Store.Attach(false)
				if err != nil {
					b.Fatal(err)
				}
				defer v.Close()
				for _, c := range tp.Source().Store.Channels() {
					if err := v.Subscribe(c.ID); err != nil {
						b.Fatal(err)
					}
				}
				attached = append(attached, v)
			}
			now := time.Now()
			b.SetBytes(int64(len(all)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.Frames(all, count, now)
				if i%64 != 0 {
					continue
				}
				for _, v := range attached {
					for _, ok := v.Take(); ok; _, ok = v.Take() {
					}
				}
			}
		})
	}
}
