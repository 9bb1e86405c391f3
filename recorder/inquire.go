package recorder

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// What links and messages show is at times ambiguous. Before a publisher is said to
// have lost anything, the graph is asked.
const (
	inquireEvery  = time.Second
	inquireAtMost = 2 * time.Second // one question
)

// wonder makes inquire ask at once. mu is held.
func (p *pipeline) wonder() {
	select {
	case p.doubts <- struct{}{}:
	default: // it will
	}
}

// inquire asks about doubtful losses until ctx is done.
func (r *recording) inquire(ctx context.Context) {
	again := time.NewTicker(inquireEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			r.explainLinks(ctx)
		case <-r.pipe.doubts:
			r.judgeNumbers(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// suspect is a publisher to ask about, and its last process.
type suspect struct {
	*publisher
	uri string
}

// suspects returns the publishers that which says.
func (p *pipeline) suspects(which func(*topic, *publisher) bool) []suspect {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []suspect
	for _, t := range p.topics {
		for _, u := range t.publishers {
			if which(t, u) {
				all = append(all, suspect{u, u.uri})
			}
		}
	}
	return all
}

// explainLinks asks the master which publishers without a link it still lists: by name
// and by process, as another may have taken the name.
func (r *recording) explainLinks(ctx context.Context) {
	p, now := r.pipe, time.Now()
	all := p.suspects(func(t *topic, u *publisher) bool { return u.overdue(now) && p.wants(t) })
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, inquireAtMost)
	defer cancel()
	state, err := r.Node.Master().SystemState(ctx)
	if err != nil {
		r.Log.Debug("the master does not say who is left", zap.Error(err))
		return // next time
	}
	uris := map[string]string{}
	for _, u := range all {
		if !slices.Contains(state.Publishers[u.topic], u.id) {
			continue
		}
		if _, asked := uris[u.id]; asked {
			continue
		}
		uris[u.id], err = r.Node.Master().LookupNode(ctx, u.id)
		if err != nil && !errors.Is(err, tcpros.ErrStatus) {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range all {
		if u.overdue(now) {
			u.explain(uris[u.id] == u.uri && slices.Contains(state.Publishers[u.topic], u.id))
		}
	}
}

// judgeNumbers asks whose the numbers are in which there are holes. A publisher that
// does not answer is taken to number its messages itself, as nearly all do.
func (r *recording) judgeNumbers(ctx context.Context) {
	p := r.pipe
	for _, u := range p.suspects(func(_ *topic, u *publisher) bool { return u.missed > 0 && !u.judged }) {
		foreign := r.passesOn(ctx, u.id, u.uri)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		if u.publisher.uri == u.uri {
			u.judged, u.foreign = true, foreign
			if foreign {
				u.missed = 0
			}
		}
		p.mu.Unlock()
		if foreign {
			r.Log.Debug("numbers of messages are those of others: holes do not count", zap.String("topic", u.topic), zap.String("publisher", u.id))
		}
	}
}

// passesOn reports whether a node publishes messages as it got them, numbers and all.
// That are those that receive messages of any type, such as throttle, drop, mux and
// relay of topic_tools, and players of bags.
func (r *recording) passesOn(ctx context.Context, name, uri string) bool {
	ctx, cancel := context.WithTimeout(ctx, inquireAtMost)
	defer cancel()
	if base := name[strings.LastIndexByte(name, '/')+1:]; strings.HasPrefix(base, "play_") {
		return true // as rosbag play and goplay call themselves, also when they are gone, or goplay with --no-services
	}
	topics, err := r.Node.Master().NodeSubscriptions(ctx, uri)
	if err != nil {
		r.Log.Debug("the node does not say what it subscribes to", zap.String("node", name), zap.Error(err))
	}
	for _, t := range topics {
		if t.Type == "*" {
			return true
		}
	}
	_, err = r.Node.Master().LookupService(ctx, name+"/pause_playback")
	return err == nil
}
