package face

import (
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/info"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/view"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// Routes implements web.Backend.
func (f *Face) Routes(s *web.Server) {
	s.Assets(view.Assets()) // of the panels
	s.Commands(f.Commands())
	s.Handle("GET /api/v1/bags", f.listBags)
	s.Handle("GET /api/v1/last_minute", f.sendMinutes)
	f.withBag(s, "GET /api/v1/bags/{id}", describeBag)
	f.withBag(s, "GET /api/v1/bags/{id}/file", sendBag)
}

// sendMinutes sends the messages per second of each topic, a number for each second, the oldest
// first.
func (f *Face) sendMinutes(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	hz := make(map[string][]float64, len(f.minutes))
	for topic, minute := range f.minutes {
		hz[topic] = minute.Values()
	}
	f.mu.Unlock()
	web.WriteJSON(w, http.StatusOK, hz)
}

// bag is a finished bag as JSON.
type bag struct {
	ID       int     `json:"id"`
	Name     string  `json:"name"` // without the directory
	Bytes    int64   `json:"bytes"`
	Messages *uint64 `json:"messages"` // null for a snapshot beside a recording
	Begun    float64 `json:"begun"`    // seconds since 1970
	Seconds  float64 `json:"seconds"`  // from the creation of the file to its end
	Snapshot bool    `json:"snapshot"`
	Pinned   bool    `json:"pinned"`
}

// maxBags is the number of bags that are listed, the newest ones.
const maxBags = 200

func (f *Face) listBags(w http.ResponseWriter, _ *http.Request) {
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
func (f *Face) withBag(s *web.Server, pattern string,
	serve func(w http.ResponseWriter, r *http.Request, file *os.File, b *control.Bag) error,
) {
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
	info, err := info.New(base(b.Name), reader, info.Options{})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	info.WriteJSON(w) //nolint:errcheck,gosec // an error means that the client has gone
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
