//go:build linux

package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aler9/goroslib/pkg/msgproc"
	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/protocommon"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/load"
)

const cameraTopic = "/load0"

// looked records 100 MB/s, a quarter of it pictures of a camera, without and with a page that shows the picture, the tree
// of the message and a plot of one of its fields, in turn.
func looked(ctx context.Context, b *station.Bench, t *figures.Table) error {
	camera, err := cameraKind()
	if err != nil {
		return err
	}
	s := scenario{topics: 4, size: len(camera.Payload), count: 1000, period: 10 * time.Millisecond, first: camera} // 100 MB/s for 10 s
	var page *panels
	alone, seen, err := inTurn(ctx, b, s, func(w *watcher) func() error {
		page = &panels{watcher: w}
		return page.start(ctx)
	})
	if err != nil {
		return err
	}
	t.Target(figures.Most(seen, result.lost) == 0, "0 lost", "%d of %d", figures.Most(seen, result.lost), seen[0].sent)
	cpu := func(r result) float64 { return r.CPU.Seconds() }
	seconds := figures.Median(seen, func(r result) float64 { return r.took.Seconds() })
	cost := figures.Median(seen, cpu) - figures.Median(alone, cpu)
	t.Note("the page costs %.1f %% of a core (%.2f beside %.2f s in %.0f s); %d answers, %d pictures",
		100*cost/seconds, figures.Median(seen, cpu), figures.Median(alone, cpu), seconds, page.answers.Load(), page.pictures.Load())
	t.Note("memory %d MiB without, %d MiB with the page", figures.Most(alone, result.peak)>>20, figures.Most(seen, result.peak)>>20)
	return nil
}

// cameraKind is a picture of 250 kB.
func cameraKind() (load.Kind, error) {
	const width, height = 320, 260
	picture := sensor_msgs.Image{Width: width, Height: height, Encoding: "rgb8", Step: 3 * width, Data: make([]byte, 3*width*height)}
	load.Fill(picture.Data)
	for i := range picture.Data {
		picture.Data[i] *= 16
	}
	typ, err1 := msgproc.Type(picture)
	sum, err2 := msgproc.MD5(picture)
	definition, err3 := msgproc.Definition(picture)
	var frame bytes.Buffer
	err4 := protocommon.MessageEncode(&frame, &picture)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return load.Kind{}, err
	}
	return load.Kind{Type: typ, MD5Sum: sum, Definition: definition, Payload: frame.Bytes()[4:]}, nil
}

// panels does what the panels of an open page do: it asks for what is new, again when all has come.
type panels struct {
	*watcher
	answers, pictures atomic.Int64
}

// start asks until end is called.
func (p *panels) start(ctx context.Context) (end func() error) {
	const interval = 400 * time.Millisecond // as in look.js
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	// owner: end; ends with ctx.
	wg.Go(func() { p.again(ctx, interval, func() { p.ask(ctx) }) })
	return func() error {
		cancel()
		wg.Wait()
		if p.pictures.Load() == 0 {
			return fmt.Errorf("%d answers, and no picture: nobody has looked", p.answers.Load())
		}
		return nil
	}
}

func (p *panels) ask(ctx context.Context) {
	look := func(name string, parameters url.Values) int64 {
		n := p.drain(p.get(ctx, "/api/v1/look/"+name+"?"+parameters.Encode()))
		if n > 0 {
			p.answers.Add(1)
		}
		return n
	}
	topic := url.Values{"topic": {cameraTopic}}
	if look("state", nil) == 0 {
		return // there is no recorder yet, or none any more
	}
	look("message", topic)
	if look("picture", url.Values{"topic": {cameraTopic}, "width": {"320"}, "height": {"320"}}) > 1000 { // less is the text of an error
		p.pictures.Add(1)
	}
	look("hints", topic)
	look("plot", url.Values{"f": {cameraTopic + "|header.seq"}, "from": {"-60"}, "to": {"60"}, "columns": {"600"}})
}
