package web

import (
	"context"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/baginfo"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// routes implements Backend.
func (f *Recorder) routes(s *Server) {
	s.action("pause", simple(func(context.Context) (any, error) {
		return done{Message: "paused"}, f.control.Pause()
	}))
	s.action("resume", simple(func(context.Context) (any, error) {
		return done{Message: "recording"}, f.control.Resume()
	}))
	s.action("start", simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Start(ctx)
		return done{"recording", base(file)}, err
	}))
	s.action("stop", simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Stop(ctx)
		return done{"stopped", base(file)}, err
	}))
	s.action("split", simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Split(ctx)
		return done{"closed", base(file)}, err
	}))
	s.action("snapshot", simple(func(ctx context.Context) (any, error) {
		file, err := f.control.Snapshot(ctx)
		return done{"wrote", base(file)}, err
	}))
	s.action("pin", f.pinBags)
	s.action("mark", with(func(_ context.Context, p struct {
		Text string `json:"text"`
	},
	) (any, error) {
		m, err := f.control.Mark(p.Text)
		return marked{"marked", m.Text, float64(m.Time.UnixMilli()) / 1e3}, err
	}))
	s.handle("GET /api/v1/bags", f.listBags)
	s.handle("GET /api/v1/last_minute", f.sendMinutes)
	f.withBag(s, "GET /api/v1/bags/{id}", describeBag)
	f.withBag(s, "GET /api/v1/bags/{id}/file", sendBag)
}

// sendMinutes sends the messages per second of each topic, a number for each second, the oldest
// first.
func (f *Recorder) sendMinutes(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	hz := make(map[string][]float64, len(f.minutes))
	for topic, minute := range f.minutes {
		hz[topic] = minute.Values()
	}
	f.mu.Unlock()
	writeJSON(w, http.StatusOK, hz)
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

func (f *Recorder) pinBags(ctx context.Context, body io.Reader) (any, error) {
	wanted := struct {
		Seconds float64 `json:"seconds"`
	}{f.pin.Seconds()}
	if err := decode(body, &wanted); err != nil {
		return nil, err
	}
	last, err := duration(wanted.Seconds)
	if err != nil {
		return nil, err
	}
	if last < 0 {
		return nil, &statusError{http.StatusBadRequest, "seconds must be 0 or positive"}
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

func (f *Recorder) listBags(w http.ResponseWriter, _ *http.Request) {
	bags, err := f.control.Bags()
	if err != nil {
		writeError(w, err)
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
			Begun: float64(b.Begun.UnixMilli()) / 1e3, Seconds: seconds(b.Ended.Sub(b.Begun)),
		}
		if !b.Snapshot || b.Messages > 0 {
			one.Messages = &b.Messages
		}
		all = append(all, one)
	}
	writeJSON(w, http.StatusOK, all)
}

// maxDownloads is the number of bags that are read concurrently: recording needs the disk, too.
const maxDownloads = 4

// withBag opens the bag with the ID of the request, and serves it.
func (f *Recorder) withBag(s *Server, pattern string, serve func(w http.ResponseWriter, r *http.Request, file *os.File, b *control.Bag) error) {
	s.handle(pattern, func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.files <- struct{}{}:
			defer func() { <-s.files }()
		default:
			w.Header().Set("Retry-After", "5")
			writeError(w, &statusError{http.StatusServiceUnavailable, "too many bags are read at once: try again later"})
			return
		}
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			writeError(w, control.ErrNoBag)
			return
		}
		file, b, err := f.control.OpenBag(id)
		if err != nil {
			writeError(w, err)
			return
		}
		defer file.Close() //nolint:errcheck // only read from
		if err := serve(w, r, file, &b); err != nil {
			writeError(w, err)
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

// downloadWriteTimeout bounds one write of a download; a slower client is disconnected.
const downloadWriteTimeout = 30 * time.Second

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
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{}) //nolint:errcheck,gosec // the server's connections have deadlines
	http.ServeContent(deadlineWriter{w, rc}, r, "", b.Ended, file)
	return nil
}

// deadlineWriter sets a deadline for each write, instead of one for the whole response.
type deadlineWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements io.Writer.
func (p deadlineWriter) Write(b []byte) (int, error) {
	p.rc.SetWriteDeadline(time.Now().Add(downloadWriteTimeout)) //nolint:errcheck,gosec // the server's connections have deadlines
	return p.ResponseWriter.Write(b)
}
