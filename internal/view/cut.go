package view

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/request"
	"github.com/gorosbag/gorosbag/rosbag"
)

// cutOf reads which part of the recordings a request is about: all topics, or those of its parameters topic.
func (v *Viewer) cutOf(r *http.Request) (s *recorded.Set, c Cut, err error) {
	if s, err = v.set(r); err != nil {
		return s, c, err
	}
	if c.Start, c.End, err = request.Window(r, s); err != nil {
		return s, c, err
	}
	c.Files = s.Files
	if topics := r.Form["topic"]; len(topics) > 0 {
		for _, name := range topics {
			if _, ok := s.Row(name); !ok {
				return s, c, command.Refused(command.NotFound,
					fmt.Sprintf("topic %.200q is not recorded", name))
			}
		}
		c.Keep = func(c *rosbag.Connection) bool { return slices.Contains(topics, c.Topic) }
	}
	return s, c, nil
}

// size answers with about how large a part of the recordings is.
func (v *Viewer) size(w *stream.Stream, r *http.Request) error {
	s, c, err := v.cutOf(r)
	if err != nil {
		return err
	}
	bytes, messages := s.Bytes(func(row int) bool {
		return c.Keep == nil ||
			c.Keep(s.Topics[row].Connections[0])
	}, c.Start, c.End)
	web.WriteJSON(w, http.StatusOK, struct {
		Bytes    uint64 `json:"bytes"`
		Messages uint64 `json:"messages"`
	}{bytes, messages})
	return nil
}

// download answers with a part of the recordings as a bag. The bag is made twice: its first record, which
// says where the index is, can be written last only.
func (v *Viewer) download(w *stream.Stream, r *http.Request) error {
	if v.options.Copy == nil {
		return command.Refused(command.NotFound, "nothing can be cut here")
	}
	s, c, err := v.cutOf(r)
	if err != nil {
		return err
	}
	var measured head
	if err := v.options.Copy(r.Context(), &measured, c); err != nil {
		return err
	}
	name := strings.TrimSuffix(path.Base(store.Redact(c.Files[0].Name)), path.Ext(c.Files[0].Name))
	w.Header().Set("Content-Disposition",
		fmt.Sprintf(`attachment; filename="%s_%.0fs.bag"`, plainName(name), request.Seconds(s, c.Start)))
	w.Header().Set("Content-Length", strconv.FormatInt(measured.size, 10))
	w.Header().Set("Content-Type", "application/octet-stream")
	return v.options.Copy(r.Context(), &patched{w: w, first: measured.first}, c)
}

// plainName returns a name without what would end the quotes of a header.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%;`, r) {
			return '_'
		}
		return r
	}, name)
}

// headBytes is more than what a bag rewrites at its start.
const headBytes = 16 << 10

// head counts what is written, and keeps the first bytes as they are in the end.
type head struct {
	size  int64
	first []byte
}

// Write implements io.Writer.
func (h *head) Write(b []byte) (int, error) {
	h.size += int64(len(b))
	if room := headBytes - len(h.first); room > 0 {
		h.first = append(h.first, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// WriteAt implements io.WriterAt, for the first bytes.
func (h *head) WriteAt(b []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(b)) > int64(len(h.first)) {
		return 0, fmt.Errorf("%d bytes at %d are not at the start of the bag", len(b), off)
	}
	return copy(h.first[off:], b), nil
}

// patched passes on what is written, but the first bytes as they will be in the end.
type patched struct {
	w     io.Writer
	first []byte
}

// Write implements io.Writer.
func (p *patched) Write(b []byte) (int, error) {
	n := min(len(b), len(p.first))
	if n > 0 {
		if _, err := p.w.Write(p.first[:n]); err != nil {
			return 0, err
		}
		p.first = p.first[n:]
	}
	if n == len(b) {
		return n, nil
	}
	m, err := p.w.Write(b[n:])
	return n + m, err
}

// save writes a part of the recordings to a new file beside them.
func (v *Viewer) save(w *stream.Stream, r *http.Request) error {
	if v.options.Save == nil {
		return command.Refused(command.NotFound, "nothing can be written here: download it")
	}
	_, c, err := v.cutOf(r)
	if err != nil {
		return err
	}
	saved, err := v.options.Save(context.WithoutCancel(r.Context()), c)
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, struct {
		Message string `json:"message"`
	}{"wrote " + saved})
	return nil
}
