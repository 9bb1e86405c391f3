// Package unlike tells when publishers do not agree on what their messages are: another type or version
// than the first publisher of the topic has, or a definition that does not have its own md5sum. All is
// recorded as it comes; but whoever plays the bag later meets the difference, and the field is where it
// can be corrected.
//
// A Watch has a lock of its own, and is asked once for each link that opens.
package unlike

import (
	"hash/maphash"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Bounds of what a Watch remembers: publishers may make up any number of names and definitions.
const (
	maxBytes = 16 << 20 // of names and texts; topics beyond are not compared
	maxTold  = 1 << 12
	maxName  = 256 // bytes of a name that a publisher has given, in a line
)

// Watch compares the publishers of each topic. The zero value is ready.
type Watch struct {
	mu    sync.Mutex
	first map[string]mismatch.Definition // of the first publisher of each topic
	texts map[string]string              // of these definitions, each once: many topics have the same
	bytes int                            // of names and texts
	told  map[uint64]bool                // hashes of lines that were logged
	seed  maphash.Seed                   // of these hashes
}

// line is what may be logged once.
type line struct{ topic, publisher, sum string }

// Opened is called for each link to a publisher that opens. Each publisher of a topic has at most one
// line in the log for each version.
func (w *Watch) Opened(resolved topicname.InGraph, h rosbag.Header, log *zap.Logger) {
	topic, d := string(resolved),
		mismatch.Definition{Type: h.Type(), MD5Sum: strings.ToLower(h.MD5Sum()), Text: h.MessageDefinition()}
	if d.MD5Sum == "*" || d.Type == "*" {
		return
	}
	l := line{topic, h.CallerID(), d.MD5Sum}
	first, another := w.note(topic, d, l)
	if !another {
		return
	}
	what, why := "the definition of a publisher is not usable: its messages are recorded as they are, and gobag fix BAG OUT --to DEFS repairs the definition", ""
	if first != d {
		if e := mismatch.Explain(first, d, nil, nil); e.Case != mismatch.Fits {
			what, why = "publishers of a topic have different definitions: each is recorded as a connection of its own, and gobag fix BAG OUT --to DEFS makes versions one", e.Text
		}
	}
	if why == "" {
		switch r, err := mismatch.Resolve(d, nil); {
		case err != nil:
			why = err.Error()
		case r.Unproven:
			why = r.Fault
		default:
			return
		}
	}
	if w.tell(l) {
		log.Warn(what, loglimit.Each(), zap.String("topic", topic),
			zap.String("publisher", clip(l.publisher)), zap.String("type", clip(d.Type)),
			zap.String("reason", why))
	}
}

func clip(name string) string { return wording.EscapeLine(name[:min(len(name), maxName)]) }

// note returns the definition of the first publisher of a topic. another is false for one that is like
// it, or of which there is a line already.
func (w *Watch) note(topic string, d mismatch.Definition, l line) (first mismatch.Definition, another bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, known := w.first[topic]
	if known {
		return first, first != d && !w.told[w.hash(l)]
	}
	text, shared := w.texts[d.Text]
	size := len(topic) + len(d.Type) + len(d.MD5Sum)
	if !shared {
		size += len(d.Text)
	}
	if w.bytes+size > maxBytes {
		return d, true
	}
	if w.first == nil {
		w.first, w.texts = make(map[string]mismatch.Definition), make(map[string]string)
	}
	if !shared {
		text = strings.Clone(d.Text) // the rest of the header need not stay
		w.texts[text] = text
	}
	w.first[topic] = mismatch.Definition{
		Type: strings.Clone(d.Type), MD5Sum: strings.Clone(d.MD5Sum),
		Text: text,
	}
	w.bytes += size
	return d, true
}

// hash returns a number that stands for a line. The caller has the lock.
func (w *Watch) hash(l line) uint64 {
	if w.seed == (maphash.Seed{}) {
		w.seed = maphash.MakeSeed()
	}
	return maphash.Comparable(w.seed, l)
}

// tell reports whether a line has not been logged yet.
func (w *Watch) tell(l line) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hash(l)
	if w.told[h] || len(w.told) >= maxTold {
		return false
	}
	if w.told == nil {
		w.told = make(map[uint64]bool)
	}
	w.told[h] = true
	return true
}
