// Package unlike tells when publishers do not agree on what their messages are: another type or version than the first publisher
// of the topic has, or a definition that does not have its own md5sum. All is recorded as it comes; but whoever plays the bag
// later meets the difference, and the field is where it can be corrected.
//
// A Watch has a lock of its own, and is asked once for each link that opens.
package unlike

import (
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Bounds of what a Watch remembers: publishers may make up any number of names and definitions.
const (
	maxTopics = 1 << 16
	maxTold   = 1 << 12
)

// Watch compares the publishers of each topic. The zero value is ready.
type Watch struct {
	mu    sync.Mutex
	first map[string]mismatch.Definition // of the first publisher of each topic
	told  map[told]bool
}

// told is a line that has been logged.
type told struct{ topic, publisher, sum string }

// Opened is called for each link to a publisher that opens. Each publisher of a topic has at most one line in the log for
// each version.
func (w *Watch) Opened(topic string, h rosbag.Header, log *zap.Logger) {
	d := mismatch.Definition{Type: h.Type(), MD5Sum: strings.ToLower(h.MD5Sum()), Text: h.MessageDefinition()}
	if d.MD5Sum == "*" || d.Type == "*" {
		return
	}
	first, another := w.note(topic, d)
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
	publisher := wording.EscapeLine(h.CallerID())
	if w.tell(told{topic, publisher, d.MD5Sum}) {
		log.Warn(what, loglimit.Each(), zap.String("topic", topic), zap.String("publisher", publisher), zap.String("type", wording.EscapeLine(d.Type)), zap.String("reason", why))
	}
}

// note returns the definition of the first publisher of a topic. another is false for one that is like it.
func (w *Watch) note(topic string, d mismatch.Definition) (first mismatch.Definition, another bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, known := w.first[topic]
	if known {
		return first, first != d
	}
	if w.first == nil {
		w.first = make(map[string]mismatch.Definition)
	}
	if len(w.first) < maxTopics {
		w.first[topic] = d
	}
	return d, true
}

// tell reports whether a line has not been logged yet.
func (w *Watch) tell(t told) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told[t] || len(w.told) >= maxTold {
		return false
	}
	if w.told == nil {
		w.told = make(map[told]bool)
	}
	w.told[t] = true
	return true
}
