// Package view serves the panels that show recordings and running graphs in a browser: the time line, messages, plots,
// pictures, scenes, searches and cuts. Its files in assets draw them.
//
// A Viewer has recordings; it reads what the page asks for, and ends that when the page no longer waits. What it keeps is
// bounded by the limits in this package. Its routes stand behind the checks of package web, whose server asks for the
// token, the host and the origin.
package view

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/ros/msgtypes"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

//go:embed assets
var embedded embed.FS

// Assets returns the files that pages with panels load.
func Assets() fs.FS { return web.Files(embedded) }

// maxReads is how many requests read recordings at once. Others wait for their turn.
const maxReads = 4

// Cut is a part of recordings, to be copied to a file of its own.
type Cut struct {
	Files      []*bags.Recording
	Start, End rosbag.Time
	Keep       func(*rosbag.Connection) bool
}

// Options say what a Viewer can do beside reading.
type Options struct {
	// Copy writes a Cut to w as a bag, twice alike.
	Copy func(ctx context.Context, w io.Writer, c Cut) error
	// Save writes a Cut to a new file and returns its path. Nil: nothing can be written here.
	Save func(ctx context.Context, c Cut) (path string, err error)
}

// Viewer shows recordings.
type Viewer struct {
	options Options
	all     *recorded.Set
	reads   chan struct{} // holds an element for each request that reads
	types   types
	plots   *cache

	mu   sync.Mutex
	each map[int]*recorded.Set // of one file
	once sync.Once
	told stateAnswer // of once
}

// New returns a Viewer of recordings, which must stay open. It may take a while to look at all chunk infos.
func New(files []*bags.Recording, o Options) *Viewer {
	return &Viewer{
		options: o, all: recorded.New(files), reads: make(chan struct{}, maxReads), each: make(map[int]*recorded.Set), plots: newCache(plotCacheBytes),
	}
}

// Routes registers the endpoints, and the files of the panels.
func (v *Viewer) Routes(s *web.Server) {
	s.Assets(Assets())
	v.handle(s, "GET", "state", v.state)
	v.handle(s, "GET", "size", v.size)
	for name, h := range map[string]handler{
		"density": v.density, "message": v.message, "copy": v.copyMessage, "values": v.values, "plot": v.plot, "csv": v.csv,
		"search": v.search, "cut": v.download,
	} {
		v.handle(s, "GET", name, v.reading(h))
	}
	v.handle(s, "POST", "save", v.reading(v.save))
}

// handler answers a request, or returns why not.
type handler func(w *web.Stream, r *http.Request) error

// handle serves an endpoint. An error after a part of the answer becomes its last line.
func (v *Viewer) handle(s *web.Server, method, name string, h handler) {
	s.Handle(method+" /api/v1/view/"+name, func(w http.ResponseWriter, r *http.Request) {
		out := web.NewStream(w)
		r.Body = http.MaxBytesReader(out, r.Body, 0) // all parameters are in the address
		err := h(out, r)
		switch {
		case err == nil || r.Context().Err() != nil:
		case out.Begun:
			_ = json.NewEncoder(out).Encode(searchAnswer{Error: err.Error()}) // whoever has gone does not need it
		default:
			web.WriteError(out, explain(err))
		}
	})
}

// reading makes a handler wait for its turn.
func (v *Viewer) reading(h handler) handler {
	return func(w *web.Stream, r *http.Request) error {
		select {
		case v.reads <- struct{}{}:
		case <-r.Context().Done():
			return r.Context().Err()
		}
		defer func() { <-v.reads }()
		return h(w, r)
	}
}

// explain gives an error its kind, by which the status of the answer goes.
func explain(err error) error {
	switch {
	case command.KindOf(err) != command.Failed:
		return err
	case errors.Is(err, recorded.ErrNone):
		return command.Refused(command.NotFound, err.Error())
	}
	return command.Refused(command.Invalid, err.Error())
}

// types are the types of messages by their connections, for many goroutines.
type types struct {
	mu    sync.Mutex
	cache msgtypes.Cache
}

func (t *types) of(c *rosbag.Connection) (*rosmsg.Type, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, err := t.cache.Of(c)
	if err != nil {
		return nil, err
	}
	return known.Type, nil
}

// set returns the recordings that a request is about: all, or that with the number bag.
func (v *Viewer) set(r *http.Request) (*recorded.Set, error) {
	text := r.FormValue("bag")
	if text == "" {
		return v.all, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= len(v.all.Files) {
		return nil, command.Refused(command.NotFound, fmt.Sprintf("bag=%.20q: there are %d", text, len(v.all.Files)))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.each[n] == nil {
		v.each[n] = recorded.New(v.all.Files[n : n+1])
	}
	return v.each[n], nil
}

// topic returns the topic that a request names.
func topicOf(r *http.Request, s *recorded.Set) (*recorded.Topic, error) {
	name := r.FormValue("topic")
	row, ok := s.Row(name)
	if !ok {
		return nil, command.Refused(command.NotFound, fmt.Sprintf("topic %.200q is not recorded", name))
	}
	return &s.Topics[row], nil
}

// seconds returns a time as seconds from the start of a set.
func seconds(s *recorded.Set, t rosbag.Time) float64 {
	return float64(t.Sub(s.Start)) / float64(time.Second)
}

// moment reads a time that a request has as seconds from the start of a set.
func moment(r *http.Request, s *recorded.Set, name string) (rosbag.Time, error) {
	x, err := strconv.ParseFloat(r.FormValue(name), 64)
	if err != nil || math.IsNaN(x) || math.Abs(x) > 9e9 {
		return rosbag.Time{}, command.Refused(command.Invalid, fmt.Sprintf("%s=%.20q: want seconds from the start", name, r.FormValue(name)))
	}
	return s.Start.Add(time.Duration(math.Round(x * 1e9))), nil
}

// window reads the stretch of time of a request, from and to.
func window(r *http.Request, s *recorded.Set) (from, to rosbag.Time, err error) {
	if from, err = moment(r, s, "from"); err != nil {
		return from, to, err
	}
	if to, err = moment(r, s, "to"); err == nil && to.Before(from) {
		err = command.Refused(command.Invalid, "to is before from")
	}
	return from, to, err
}

// number reads a number of a request that is at most most.
func number(r *http.Request, name string, most int) (int, error) {
	n, err := strconv.Atoi(r.FormValue(name))
	if err != nil || n < 0 || n > most {
		return 0, command.Refused(command.Invalid, fmt.Sprintf("%s=%.20q: want a number up to %d", name, r.FormValue(name), most))
	}
	return n, nil
}

// rowsOf reads numbers of topics, as 0-40,55.
func rowsOf(text string, topics int) (rows []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err := errors.Join(err1, err2); err != nil || a < 0 || b < a || b >= topics || len(rows)+b-a > topics {
			return nil, command.Refused(command.Invalid, fmt.Sprintf("rows=%.40q: want numbers of topics below %d, as 0-40,55", text, topics))
		}
		for row := a; row <= b; row++ {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// id is the text by which a page names a place: the time, and the number among messages of the same time.
func id(p recorded.Place) string { return fmt.Sprintf("%d.%09d:%d", p.Time.Sec, p.Time.Nsec, p.Number) }

// parseID reads what id has written.
func parseID(text string) (p recorded.Place, err error) {
	stamp, count, _ := strings.Cut(text, ":")
	sec, nsec, _ := strings.Cut(stamp, ".")
	s, err1 := strconv.ParseUint(sec, 10, 32)
	n, err2 := strconv.ParseUint(nsec, 10, 32)
	c, err3 := strconv.ParseUint(count, 10, 31)
	if err := errors.Join(err1, err2, err3); err != nil {
		return p, command.Refused(command.Invalid, fmt.Sprintf("id=%.40q: want SECONDS.NANOSECONDS:NUMBER", text))
	}
	return recorded.Place{Time: rosbag.Time{Sec: uint32(s), Nsec: uint32(n)}, Number: int(c)}, nil
}

// find returns the message of a topic that a request asks for: at a time, with an id, or the one before or after that.
func find(r *http.Request, s *recorded.Set, topic string) (recorded.Found, error) {
	ctx := r.Context()
	if text := r.FormValue("id"); text != "" {
		p, err := parseID(text)
		if err != nil {
			return recorded.Found{}, err
		}
		switch r.FormValue("go") {
		case "next":
			return s.Next(ctx, topic, p)
		case "previous":
			return s.Previous(ctx, topic, p)
		}
		return s.Exactly(ctx, topic, p)
	}
	t, err := moment(r, s, "at")
	if err != nil {
		return recorded.Found{}, err
	}
	return s.At(ctx, topic, t)
}
