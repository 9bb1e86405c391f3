package recorder

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/tcpros"
)

// What links and messages show is at times ambiguous. Before a loss is counted for a
// publisher, the graph is asked.
const (
	verifyEvery   = time.Second
	verifyTimeout = 2 * time.Second // one question
)

// requestVerification makes verifyLosses ask at once. mu is held.
func (in *intake) requestVerification() {
	select {
	case in.verifications <- struct{}{}:
	default: // it is requested already
	}
}

// verifyLosses asks about doubtful losses until ctx is done.
func (r *session) verifyLosses(ctx context.Context) {
	again := time.NewTicker(verifyEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			r.explainLinks(ctx)
		case <-r.pipe.verifications:
			r.judgeNumbers(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// suspect is a publisher to ask about, and its last process.
type suspect struct {
	*loss.Publisher
	uri string
}

// suspects returns the publishers that which says.
func (in *intake) suspects(which func(*topic, *loss.Publisher) bool) []suspect {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []suspect
	for _, t := range in.topics {
		for _, u := range t.publishers {
			if which(t, u) {
				all = append(all, suspect{u, u.URI})
			}
		}
	}
	return all
}

// explainLinks asks the master which publishers without a link it still lists: by name
// and by process, as another may have taken the name.
func (r *session) explainLinks(ctx context.Context) {
	p, now := r.pipe, time.Now()
	all := p.suspects(func(t *topic, u *loss.Publisher) bool { return u.Overdue(now) && p.accepts(t) })
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	state, err := r.Node.Master().SystemState(ctx)
	if err != nil {
		r.Log.Debug("the master does not say who is left", zap.Error(err))
		return // next time
	}
	uris := map[string]string{}
	for _, u := range all {
		if !slices.Contains(state.Publishers[u.Topic], u.ID) {
			continue
		}
		if _, asked := uris[u.ID]; asked {
			continue
		}
		uris[u.ID], err = r.Node.Master().LookupNode(ctx, u.ID)
		if err != nil && !errors.Is(err, tcpros.ErrStatus) {
			return
		}
	}
	p.explainLinks(all, now, func(u suspect) bool {
		return uris[u.ID] == u.uri && slices.Contains(state.Publishers[u.Topic], u.ID)
	})
}

// explainLinks notes of publishers that are still without a link whether they are listed.
func (in *intake) explainLinks(all []suspect, now time.Time, listed func(suspect) bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, u := range all {
		if u.Overdue(now) {
			u.Explain(listed(u))
		}
	}
}

// judgeNumbers asks whose the numbers are in which there are holes. A publisher that
// does not answer is taken to number its messages itself, as nearly all do.
func (r *session) judgeNumbers(ctx context.Context) {
	p := r.pipe
	for _, u := range p.suspects(func(_ *topic, u *loss.Publisher) bool { return u.Unverified() }) {
		foreign := r.passesOn(ctx, u.ID, u.uri)
		if ctx.Err() != nil {
			return
		}
		p.judge(u, foreign)
		if foreign {
			r.Log.Debug("numbers of messages are those of others: holes do not count", zap.String("topic", u.Topic), zap.String("publisher", u.ID))
		}
	}
}

// judge notes whose the numbers of a publisher are, if it is still the same process.
func (in *intake) judge(u suspect, foreign bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if u.URI != u.uri {
		return
	}
	u.Judge(foreign)
}

// passesOn reports whether a node publishes messages as it got them, numbers and all.
// That are those that receive messages of any type, such as throttle, drop, mux and
// relay of topic_tools, and players of bags.
func (r *session) passesOn(ctx context.Context, name, uri string) bool {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
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
