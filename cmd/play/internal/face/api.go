package face

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/view"
)

// Routes implements web.Backend.
func (f *Face) Routes(s *web.Server) {
	s.Assets(view.Assets()) // of the panels
	s.Commands(f.Commands())
	s.Handle("GET /api/v1/density", f.density)
	s.Handle("GET /api/v1/recorded_marks", f.recordedMarks)
}

// recordedMark is a mark of the bags as JSON.
type recordedMark struct {
	Position float64 `json:"position"`
	Time     float64 `json:"time"` // seconds since 1970
	Text     string  `json:"text"`
}

// maxRecordedMarks is the number of marks that are listed.
const maxRecordedMarks = 1000

// recordedMarks lists the first marks in the part of the bags that is played.
func (f *Face) recordedMarks(w http.ResponseWriter, _ *http.Request) {
	c, err := f.controlOrError()
	if err != nil {
		web.WriteError(w, err)
		return
	}
	now, all := c.Status(), []recordedMark{}
	for _, m := range f.recorded {
		if at := now.PositionOf(m.Time); at >= 0 && at <= now.Length && len(all) < maxRecordedMarks {
			all = append(all, recordedMark{web.Seconds(at), float64(m.Time.Std().UnixMilli()) / 1e3, m.Text})
		}
	}
	web.WriteJSON(w, http.StatusOK, all)
}

// maxParts bounds the number of bins of the density.
const maxParts = 2000

func (f *Face) density(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 1 || n > maxParts {
		web.WriteError(w, command.Refused(command.Invalid, "n must be between 1 and "+strconv.Itoa(maxParts)))
		return
	}
	c, err := f.controlOrError()
	if err != nil {
		web.WriteError(w, err)
		return
	}
	web.WriteJSON(w, http.StatusOK, struct {
		Length   float64  `json:"length"`
		Messages []uint64 `json:"messages"` // null while not known
	}{web.Seconds(c.Status().Length.Round(time.Millisecond)), c.Density(n)})
}
