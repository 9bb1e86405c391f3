// Package eye makes pictures for pages, and judges those of a camera by what it has seen of it before.
//
// It makes as many pictures at a time as there are cores; others wait for their turn. It keeps small
// pictures and their figures, bounded. It knows neither recordings nor requests.
package eye

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"runtime"
	"sync"

	"github.com/gorosbag/gorosbag/internal/view/kept"
	"github.com/gorosbag/gorosbag/internal/view/picture"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Limits of what is kept.
const (
	smallBytes   = 24 << 20 // of small pictures
	maxHistories = 64       // of how many cameras pictures are judged at a time
)

// smallWidth and smallHeight are the box of small pictures, by which pictures are judged.
const smallWidth, smallHeight = 320, 240

// fewPixels is how many pixels a picture has that is sent without loss.
const fewPixels = 128 * 128

// ErrNone says that messages of a type have no pictures.
var ErrNone = errors.New("messages of this type have no pictures")

// Eye makes and judges pictures. It is safe for concurrent use.
type Eye struct {
	making chan struct{} // holds an element for each picture that is made
	small  *kept.Cache

	mu      sync.Mutex
	history map[string]*picture.History // by camera
}

// New returns an Eye that has seen nothing.
func New() *Eye {
	return &Eye{
		making: make(chan struct{}, runtime.GOMAXPROCS(0)), small: kept.New(smallBytes),
		history: make(map[string]*picture.History),
	}
}

// Place is where a picture is, for the page.
type Place struct {
	ID string  `json:"id"`
	At float64 `json:"at"`
}

// about is what a picture comes with.
type about struct {
	Place
	*picture.Picture
}

// Picture makes the picture of a message of type t.
func (e *Eye) Picture(ctx context.Context, t *rosmsg.Type, payload []byte, place Place,
	o picture.Options,
) (kept.Answer, error) {
	a, _, _, err := e.make(ctx, t, payload, place, o)
	return a, err
}

// make makes a picture when it is its turn; the figures are known if measured is set.
func (e *Eye) make(ctx context.Context, t *rosmsg.Type, payload []byte, place Place,
	o picture.Options,
) (a kept.Answer, f picture.Figures, measured bool, err error) {
	reads := picture.For(t)
	if reads == nil {
		return a, f, false, ErrNone
	}
	select {
	case e.making <- struct{}{}:
	case <-ctx.Done():
		return a, f, false, ctx.Err()
	}
	defer func() { <-e.making }()
	p, err := reads.Picture(payload, o)
	if err != nil {
		return a, f, false, err
	}
	f, measured = p.Figures()
	a.Body, a.MediaType, err = p.Encode(p.Width*p.Height <= fewPixels) // of few pixels each one counts
	if err != nil {
		return a, f, false, err
	}
	b, err := json.Marshal(about{place, p})
	a.About = url.PathEscape(string(b))
	return a, f, measured, err
}

// Small makes the small picture of a message of a camera, unless it is kept. The picture is judged.
func (e *Eye) Small(ctx context.Context, camera string, at rosbag.Time, t *rosmsg.Type, payload []byte,
	place Place,
) (kept.Answer, error) {
	key := camera + " " + place.ID
	if a, ok := e.small.Get(key); ok {
		if f, measured := a.Note.(picture.Figures); measured {
			e.note(camera, at, f) // the history may have dropped it since
		}
		return a, nil
	}
	a, figures, measured, err := e.make(ctx, t, payload, place,
		picture.Options{Width: smallWidth, Height: smallHeight, Pixels: true})
	if err != nil {
		return kept.Answer{}, err
	}
	if measured {
		e.note(camera, at, figures)
		a.Note = figures
	}
	a.Key = key
	a.Body = append([]byte(nil), a.Body...) // of a picture in a message
	e.small.Put(a)
	return a, nil
}

// note adds the figures of a small picture to what is known of its camera.
func (e *Eye) note(camera string, at rosbag.Time, f picture.Figures) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.history[camera]
	if h == nil {
		if len(e.history) >= maxHistories {
			clear(e.history)
		}
		h = &picture.History{}
		e.history[camera] = h
	}
	h.Add(at, f)
}

// Hints returns what can be said about a small picture of a camera that was made.
func (e *Eye) Hints(camera string, at rosbag.Time) []picture.Hint {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.history[camera]; h != nil {
		return h.Hints(at)
	}
	return nil
}
