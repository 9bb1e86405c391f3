package recordface

import (
	"context"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/baginfo"
	"github.com/gorosbag/gorosbag/internal/command"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// Routes implements web.Backend.
func (f *Page) Routes(s *web.Server) {
	f.action(s, "pause", web.Simple(func(context.Context) (any, error) {
		return web.Done{Message: "paused"}, f.control.Pause()
	}))
	f.action(s, "resume", web.Simple(func(context.Context) (any, error) {
		return web.Done{Message: "recording"}, f.control.Resume()
	}))
	f.action(s, "start", web.Simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Start(ctx)
		return web.Done{Message: "recording", File: base(file)}, err
	}))
	f.action(s, "stop", web.Simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Stop(ctx)
		return web.Done{Message: "stopped", File: base(file)}, err
	}))
	f.action(s, "split", web.Simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Split(ctx)
		return web.Done{Message: "closed", File: base(file)}, err
	}))
	f.action(s, "snapshot", web.Simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Snapshot(ctx)
		return web.Done{Message: "wrote", File: base(file)}, err
	}))
	f.action(s, "pin", f.pinBags)
	f.action(s, "mark", web.With(func(_ context.Context, p struct {
		Text string `json:"text"`
	},
	) (any, error) {
		m, err := f.control.Mark(p.Text)
		return marked{"marked", m.Text, float64(m.Time.UnixMilli()) / 1e3}, err
	}))
	s.Handle("GET /api/v1/bags", f.listBags)
	s.Handle("GET /api/v1/last_minute", f.sendMinutes)
	f.withBag(s, "GET /api/v1/bags/{id}", describeBag)
	f.withBag(s, "GET /api/v1/bags/{id}/file", sendBag)
}

// action serves a command.
func (*Page) action(s *web.Server, name string, do func(context.Context, io.Reader) (any, error)) {
	s.Action(name, func(ctx context.Context, body io.Reader) (any, error) {
		answer, err := do(ctx, body)
		return answer, refusal(err)
	})
}

// sendMinutes sends the messages per second of each topic, a number for each second, the oldest
// first.
func (f *Page) sendMinutes(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	hz := make(map[string][]float64, len(f.minutes))
	for topic, minute := range f.minutes {
		hz[topic] = minute.Values()
	}
	f.mu.Unlock()
	web.WriteJSON(w, http.StatusOK, hz)
}

// marked is the response to mark.
type marked struct {
	Message string  `json:"message"`
	Text    string  `json:"text"`
	Time    float64 `json:"time"` // seconds since 1970, by the clock of the recording
}

// pinned is the response to pin.
type pinned struct {
	Message string   `json:"message"`
	Files   []string `json:"files"`
}

func (f *Page) pinBags(ctx context.Context, body io.Reader) (any, error) {
	wanted := struct {
		Seconds float64 `json:"seconds"`
	}{f.pin.Seconds()}
	if err := web.Decode(body, &wanted); err != nil {
		return nil, err
	}
	last, err := web.Duration(wanted.Seconds)
	if err != nil {
		return nil, err
	}
	if last < 0 {
		return nil, command.Refused(command.Invalid, "seconds must be 0 or positive")
	}
	files, err := f.control.Pin(ctx, last)
	answer := pinned{Message: "kept", Files: make([]string, len(files))}
	for i, file := range files {
		answer.Files[i] = base(file)
	}
	return answer, err
}

// bag is a finished bag as JSON.
type bag struct {
	ID       int     `json:"id"`
	Name     string  `json:"name"` // without the directory
	Bytes    int64   `json:"bytes"`
	Messages *uint64 `json:"messages"` // null for a snapshot beside a recording
	Begun    float64 `json:"begun"`    // seconds since 1970
	Seconds  float64 `json:"seconds"`  // from its creation to its end
	Snapshot bool    `json:"snapshot"`
	Pinned   bool    `json:"pinned"`
}

// maxBags is the number of bags that are listed, the newest ones.
const maxBags = 200

func (f *Page) listBags(w http.ResponseWriter, _ *http.Request) {
	bags, err := f.control.Bags()
	if err != nil {
		web.WriteError(w, refusal(err))
		return
	}
	all := make([]bag, 0, min(len(bags), maxBags))
	for i := len(bags) - 1; i >= 0 && len(all) < maxBags; i-- {
		b := &bags[i]
		if b.Deleted {
			continue
		}
		one := bag{
			ID: b.ID, Name: base(b.Name), Bytes: b.Bytes, Snapshot: b.Snapshot, Pinned: b.Pinned,
			Begun: float64(b.Begun.UnixMilli()) / 1e3, Seconds: web.Seconds(b.Ended.Sub(b.Begun)),
		}
		if !b.Snapshot || b.Messages > 0 {
			one.Messages = &b.Messages
		}
		all = append(all, one)
	}
	web.WriteJSON(w, http.StatusOK, all)
}

// withBag opens the bag with the ID of the request, and serves it.
func (f *Page) withBag(s *web.Server, pattern string, serve func(w http.ResponseWriter, r *http.Request, file *os.File, b *control.Bag) error) {
	s.HandleDownload(pattern, func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			web.WriteError(w, refusal(control.ErrNoBag))
			return
		}
		file, b, err := f.control.OpenBag(id)
		if err != nil {
			web.WriteError(w, refusal(err))
			return
		}
		defer file.Close() //nolint:errcheck // only read from
		if err := serve(w, r, file, &b); err != nil {
			web.WriteError(w, err)
		}
	})
}

// describeBag sends the same as gobag info --json.
func describeBag(w http.ResponseWriter, _ *http.Request, file *os.File, b *control.Bag) error {
	reader, err := bagfmt.NewReader(file, b.Bytes, bagfmt.ReaderOptions{IndexOnly: true})
	if err != nil {
		return err
	}
	info, err := baginfo.New(base(b.Name), reader, baginfo.Options{})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	info.WriteJSON(w) //nolint:errcheck,gosec // whoever has gone does not need it
	return nil
}

// sendBag sends the file, or the requested range of it.
func sendBag(w http.ResponseWriter, r *http.Request, file *os.File, b *control.Bag) error {
	name := mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(b.Name)})
	if name == "" {
		name = "attachment; filename=" + strconv.Itoa(b.ID) + ".bag"
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", name)
	h.Set("ETag", strconv.Quote(strconv.Itoa(b.ID)+"-"+strconv.FormatInt(b.Begun.UnixNano(), 36)))
	web.ServeContent(w, r, b.Ended, file)
	return nil
}
