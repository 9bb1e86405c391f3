// Package view serves the panels that show recordings and running graphs in a browser: the time line,
// messages, plots, pictures, scenes, searches and cuts. Its files in assets draw them.
//
// A Viewer has recordings; it reads what the page asks for, and ends that when the page no longer waits.
// What it keeps is bounded by the limits in this package. Its routes stand behind the checks of package
// web, whose server asks for the token, the host and the origin.
package view

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"sync"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/view/eye"
	"github.com/gorosbag/gorosbag/internal/view/kept"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

//go:embed assets
var embedded embed.FS

// Assets returns the files that pages with panels load.
func Assets() fs.FS { return web.Files(embedded) }

// plotCacheBytes is how much of finished plots is kept.
const plotCacheBytes = 16 << 20

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

// Opening says how far the opening of recordings is, in bytes.
type Opening struct {
	Name  string `json:"name"` // what is read
	Done  int64  `json:"done"`
	Total int64  `json:"total"` // 0 if it is not known
}

// Viewer shows recordings. Until Show, its pages are told how far the opening is.
type Viewer struct {
	opening func() Opening
	shows   chan struct{} // closed when what follows is set
	options Options
	all     *recorded.Set
	reads   chan struct{} // holds an element for each request that reads
	types   types
	plots   *kept.Cache
	eyes    *eye.Eye

	mu   sync.Mutex
	each map[int]*recorded.Set // of one file
	once sync.Once
	told stateAnswer // of once
}

// New returns a Viewer of nothing yet. opening says how far the opening of recordings is.
func New(opening func() Opening) *Viewer {
	return &Viewer{
		opening: opening, shows: make(chan struct{}), reads: make(chan struct{}, maxReads),
		each:  make(map[int]*recorded.Set),
		plots: kept.New(plotCacheBytes), eyes: eye.New(),
	}
}

// Show shows recordings, which must stay open. It may take a while to look at all chunk infos. It is
// called once.
func (v *Viewer) Show(files []*bags.Recording, o Options) {
	v.options, v.all = o, recorded.New(files)
	close(v.shows)
}

// types are the types of messages by their connections, for many goroutines.
type types struct {
	mu    sync.Mutex
	cache msgdef.Cache
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
		return nil, command.Refused(command.NotFound,
			fmt.Sprintf("bag=%.20q: there are %d", text, len(v.all.Files)))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.each[n] == nil {
		v.each[n] = recorded.New(v.all.Files[n : n+1])
	}
	return v.each[n], nil
}
