package endpoint

import (
	"sync"
	"sync/atomic"
)

// Links leave a quarter of the descriptors to the rest of the process, which has bags to open and calls
// to make: at least fewestFree, or half of a small limit, and at most mostFree.
const (
	fewestFree = 96
	mostFree   = 4096
)

// othersShare is the share of the free links that a topic leaves to others, so that one that takes all it
// can get harms none.
const othersShare = 16

// Links counts links to publishers and to subscribers. Each has one descriptor. A nil *Links has no limit.
type Links struct {
	Most int // that may be up, or wait for the reply of a publisher; zero means no limit
	now  atomic.Int64
}

// ProcessLinks returns the count of this process, with its limit of open files. All nodes share it: a bag
// may be played by several.
var ProcessLinks = sync.OnceValue(func() *Links { return &Links{Most: linksOf(openFiles())} })

// Add counts n links that begin, or end if n is negative. It returns how many there are.
func (l *Links) Add(n int) (all int) {
	if l == nil {
		return 0
	}
	return int(l.now.Add(int64(n)))
}

// Now returns how many links there are.
func (l *Links) Now() int {
	if l == nil {
		return 0
	}
	return int(l.now.Load())
}

// Exceeds reports whether all links are more than there may be, or own ones of a topic, which all
// includes, are more than a topic may have.
func (l *Links) Exceeds(all, own int) bool {
	return l != nil && l.Most > 0 &&
		(all > l.Most || own > max((l.Most-all)*othersShare, l.Most/othersShare, 1))
}

// linksOf returns how many links a limit of open files allows.
func linksOf(files int) int {
	if files == 0 {
		return 0
	}
	free := min(max(files/4, fewestFree), mostFree)
	return max(files-min(free, files/2), 1)
}
