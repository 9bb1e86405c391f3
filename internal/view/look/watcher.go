// Package look shows the latest messages of a recording or a playback in the panels of a page: as a tree,
// a picture, a scene, and plots of the last minutes.
//
// A Watcher is one viewer of a live.Store, whoever looks and however many: it reads each message once,
// and only those of topics that a page has asked for in the last seconds. It never keeps a recording
// waiting: the store skips what it is too slow for. Without pages it holds nothing.
package look

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/internal/view/plot"
	"github.com/gorosbag/gorosbag/internal/view/scene"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const (
	// forget is how long after the last request a topic or a field is read no more.
	forget = 10 * time.Second
	// maxTopics and maxFields are how many are read at a time.
	maxTopics, maxFields = 8, 16
	// plotLasts and maxValues bound what is kept of a field.
	plotLasts = 3 * time.Minute
	maxValues = 100_000
)

// Watcher reads the messages of the topics that pages ask for.
type Watcher struct {
	store *live.Store
	asked chan struct{} // holds an element after a page has asked for a topic that is not read yet
	began rosbag.Time   // seconds of pages count from here

	mu     sync.Mutex
	topics map[string]*topic
	// of the frames of all topics with transforms: those that move, and those that do not
	tree scene.Gatherer
}

// topic is a topic that is read.
type topic struct {
	channel live.Channel
	conn    *rosbag.Connection
	typ     *rosmsg.Type
	kind    scene.Kind
	err     error // why there is no type
	wanted  time.Time

	latest  *live.Frame
	number  uint64        // of the latest message, of those that were read
	arrived chan struct{} // closed with the first message
	fields  map[string]*field
	gather  scene.Gatherer // nil: the type has no scene of many messages
}

// field is a field whose values are kept.
type field struct {
	reads  *plot.Field
	err    error
	wanted time.Time
	values []value // by time, of the last minutes
}

type value struct {
	t      rosbag.Time
	number float64
	text   string
	broken bool // there is no value
}

// New returns a Watcher of a store. now is when it begins.
func New(store *live.Store, now time.Time) *Watcher {
	return &Watcher{
		store: store, asked: make(chan struct{}, 1), began: rosbag.TimeOf(now),
		topics: make(map[string]*topic),
	}
}

// Run reads what pages ask for until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-w.asked:
		}
		viewer, err := w.store.Attach(false)
		if err != nil { // too many viewers: pages ask again
			w.forgetAll()
			continue
		}
		w.read(ctx, viewer)
		viewer.Close()
	}
}

// read reads until nobody looks any more.
func (w *Watcher) read(ctx context.Context, viewer *live.Viewer) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	subscribed := make(map[live.ChannelID]bool)
	for w.subscribe(viewer, subscribed) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.asked:
		case <-viewer.Ready():
			for f, ok := viewer.Take(); ok; f, ok = viewer.Take() {
				w.take(f)
			}
		}
	}
}

// subscribe makes the viewer read what is wanted. It returns false if that is nothing.
func (w *Watcher) subscribe(viewer *live.Viewer, subscribed map[live.ChannelID]bool) bool {
	w.mu.Lock()
	wanted := make(map[live.ChannelID]bool)
	trees := false
	for name, t := range w.topics {
		if time.Since(t.wanted) > forget {
			delete(w.topics, name)
			continue
		}
		trees = trees || t.kind == scene.Tree
		wanted[t.channel.ID] = true
		for path, f := range t.fields {
			if time.Since(f.wanted) > forget {
				delete(t.fields, path)
			}
		}
	}
	if !trees {
		w.tree = nil
	}
	w.mu.Unlock()
	for id := range subscribed {
		if !wanted[id] {
			viewer.Unsubscribe(id)
			delete(subscribed, id)
		}
	}
	for id := range wanted {
		if !subscribed[id] && viewer.Subscribe(id) == nil { // a channel that is gone has no messages any more
			subscribed[id] = true
		}
	}
	return len(wanted) > 0
}

func (w *Watcher) forgetAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.topics)
	w.tree = nil
}

// take takes what the store gives out.
func (w *Watcher) take(f live.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.Kind == live.Jump {
		w.tree = nil
		for _, t := range w.topics {
			w.clear(t)
		}
		return
	}
	for _, t := range w.topics {
		if f.Kind == live.Message && t.channel.ID == f.Channel {
			t.add(f)
		}
	}
}

// clear drops what came of a topic before a jump. Called with the lock.
func (w *Watcher) clear(t *topic) {
	for _, f := range t.fields {
		f.values = nil
	}
	w.makeGatherer(t)
}

// makeGatherer gives a topic what gathers its messages, if these make a scene of many. Called with the lock.
func (w *Watcher) makeGatherer(t *topic) {
	if !t.kind.Gathers() {
		return
	}
	if t.kind == scene.Tree && w.tree != nil {
		t.gather = w.tree
		return
	}
	t.gather = scene.Gather(t.kind, scene.Options{Start: w.began})
	if t.kind == scene.Tree {
		w.tree = t.gather
	}
}

// add adds a message.
func (t *topic) add(f live.Frame) {
	if f.Retained > 2*len(f.Payload) { // the latest message stays for long: it must not keep a chunk
		f.Payload, f.Retained = slices.Clone(f.Payload), 0
	}
	t.latest = &f
	if t.number++; t.number == 1 {
		close(t.arrived)
	}
	if t.gather != nil {
		// a damaged message has no part in it
		_ = t.gather.Add(scene.Message{
			Type: t.typ, Time: f.Time,
			Static: path.Base(t.channel.Topic) == staticFrames, Payload: f.Payload,
		})
	}
	for _, x := range t.fields {
		x.add(f)
	}
}

func (x *field) add(f live.Frame) {
	if x.reads == nil {
		return
	}
	v := value{t: f.Time}
	var err error
	if x.reads.Bands {
		v.text, err = x.reads.Text(f.Payload)
		v.text = plot.Short(v.text) // a band shows no more, and there may be many
		if n := len(x.values); n > 0 && x.values[n-1].text == v.text {
			v.text = x.values[n-1].text // one copy of a state that lasts
		}
	} else {
		v.number, err = x.reads.Number(f.Payload)
	}
	v.broken = err != nil
	x.values = append(x.values, v)
	drop := max(0, len(x.values)-maxValues)
	for drop < len(x.values) && f.Time.Sub(x.values[drop].t) > plotLasts {
		drop++
	}
	if drop > len(x.values)/4 || drop > 0 && len(x.values) > maxValues { // rarely, as the rest is moved
		x.values = append(x.values[:0], x.values[drop:]...)
	}
}

// want notes that a page asks for a topic, and for fields of it. ok is false if there is no such topic,
// or if pages look at too many.
func (w *Watcher) want(name string, paths ...string) (t *topic, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t = w.topics[name]
	// A topic whose publishers have left and come again has another channel.
	if c, is := w.channel(name); t == nil && !is {
		return nil, false
	} else if is && (t == nil || t.channel.ID != c.ID) {
		if t == nil && len(w.topics) >= maxTopics {
			return nil, false
		}
		t = w.open(c)
		w.topics[name] = t
		select {
		case w.asked <- struct{}{}:
		default:
		}
	}
	t.wanted = time.Now()
	for _, path := range paths {
		x := t.fields[path]
		if x == nil {
			if len(t.fields) >= maxFields {
				continue
			}
			x = &field{err: t.err}
			if t.typ != nil {
				x.reads, x.err = plot.Compile(t.typ, path)
			}
			t.fields[path] = x
			if t.latest != nil {
				x.add(*t.latest)
			}
		}
		x.wanted = t.wanted
	}
	return t, true
}

// channel returns the first channel of a topic.
func (w *Watcher) channel(name string) (c live.Channel, ok bool) {
	for _, c := range w.store.Channels() {
		if c.Topic == name {
			return c, true
		}
	}
	return c, false
}

// open returns the topic of a channel. Called with the lock.
func (w *Watcher) open(c live.Channel) *topic {
	t := &topic{channel: c, arrived: make(chan struct{}), fields: make(map[string]*field)}
	t.conn = &rosbag.Connection{Topic: c.Topic, Header: rosbag.Header{{Key: rosbag.KeyType, Value: c.Type}}}
	if known, err := msgdef.Parse(c.Type, c.MD5Sum, c.Definition); err != nil {
		t.err = err
	} else {
		t.typ, t.kind = known.Type, scene.KindOf(known.Type)
	}
	w.makeGatherer(t)
	return t
}

// The topics of transforms, which make one tree.
const frames, staticFrames = "tf", "tf_static"

// wantFrames notes that a page asks for all transforms.
func (w *Watcher) wantFrames() {
	for _, c := range w.store.Channels() {
		if name := path.Base(c.Topic); name == frames || name == staticFrames {
			w.want(c.Topic) // as far as there is room
		}
	}
}
