package account

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Publishers are the publishers of one topic. The latest ones have an account each; earlier ones are
// summed up.
type Publishers struct {
	all     []*loss.Publisher        // in the order of their first connection
	former  control.FormerPublishers // sums over earlier publishers, which are gone
	refused map[string]struct{}      // addresses of publishers that were refused; nil for none

	unlinked control.UnlinkedPublishers // publishers that there was no file descriptor for
}

// find returns the account of a publisher by its name, or nil.
func (p *Publishers) find(id string) *loss.Publisher {
	i := slices.IndexFunc(p.all, func(u *loss.Publisher) bool { return u.ID() == id })
	if i < 0 {
		return nil
	}
	return p.all[i]
}

// mostRefused bounds the addresses of refused publishers that are remembered for a topic.
const mostRefused = 256

// refuse counts a refused publisher, each address once.
func (p *Publishers) refuse(uri string) {
	if p.refused == nil {
		p.refused = map[string]struct{}{}
	}
	if len(p.refused) < mostRefused {
		p.refused[Clip(uri)] = struct{}{}
	}
}

// Refuse counts a publisher that the node could not connect to for a reason of its own. Publishers that
// Admit has refused count already. An err of nil takes back a publisher for which there is a descriptor
// after all.
func (p *Publishers) Refuse(uri string, err error) {
	switch {
	case err == nil:
		p.unlinked.Count--
		p.unlinked.URIs = slices.DeleteFunc(slices.Clone(p.unlinked.URIs),
			func(other string) bool { return other == Clip(uri) })
	case errors.As(err, new(*HeadersFullError)):
	case errors.Is(err, tcpros.ErrHeader): // longer than headers are read
		p.refuse(uri)
	default:
		p.addUnlinked(control.UnlinkedPublishers{Count: 1, URIs: []string{Clip(uri)}})
	}
}

// addUnlinked counts publishers that there was no file descriptor for.
func (p *Publishers) addUnlinked(more control.UnlinkedPublishers) {
	p.unlinked.Count += more.Count
	room := control.MostUnlinkedNamed - len(p.unlinked.URIs)
	// others have the old slice
	p.unlinked.URIs = append(p.unlinked.URIs[:len(p.unlinked.URIs):len(p.unlinked.URIs)],
		more.URIs[:min(room, len(more.URIs))]...)
}

// addFormer adds sums of former publishers to f.
func addFormer(f *control.FormerPublishers, more control.FormerPublishers) {
	f.Count += more.Count
	f.Missed += more.Missed
	f.LinksLost += more.LinksLost
	f.Reconnected += more.Reconnected
	f.Without += more.Without
}

// PublisherID is the name of a publisher, or its address if its header has no name.
func PublisherID(h rosbag.Header, uri string) string {
	if id := h.CallerID(); id != "" {
		return Clip(id)
	}
	return Clip(uri)
}

// Clip returns a copy of a name or an address, cut to namedBytes.
func Clip(name string) string { return strings.Clone(name[:min(len(name), namedBytes)]) }

// Publisher finds or makes the account of a publisher of t by its name.
func (a *Accounts) Publisher(t *Topic, id string) *loss.Publisher {
	if pub := t.publishers.find(id); pub != nil {
		return pub
	}
	pub := loss.NewPublisher(id, t.resolved)
	t.publishers.all = append(t.publishers.all, pub)
	a.connections.charge(t, publisherSize(id))
	return pub
}

// publishers is an iter.Seq2 of the publishers that have accounts of their own, with their topics.
func (a *Accounts) publishers(yield func(*Topic, *loss.Publisher) bool) {
	for _, t := range a.topics {
		for _, u := range t.publishers.all {
			if !yield(t, u) {
				return
			}
		}
	}
}

// FoldPublishers makes publishers of t former ones until at most most accounts are left: the oldest
// first, and only publishers without a link for which which returns true.
func (a *Accounts) FoldPublishers(t *Topic, most int, which func(*loss.Publisher) bool, now time.Time) {
	p := &t.publishers
	more := len(p.all) - most
	if more <= 0 {
		return
	}
	p.all = slices.DeleteFunc(p.all, func(u *loss.Publisher) bool {
		if more == 0 || u.Linked() || !which(u) {
			return false
		}
		more--
		s := u.Summary(now)
		addFormer(&p.former,
			control.FormerPublishers{
				Count: 1, Missed: s.Missed, LinksLost: s.LinksLost,
				Reconnected: s.Reconnected, Without: s.Without,
			})
		a.connections.charge(t, -publisherSize(u.ID()))
		return true
	})
}

// publisherSize is how many bytes the account of a publisher takes.
func publisherSize(id string) int64 { return ConnectionOverhead + namedBytes + int64(len(id)) }

// PublisherNews is the news of one publisher.
type PublisherNews struct {
	Topic, Publisher string
	loss.News
}

// PublisherNews returns the news of publishers to report at now.
func (a *Accounts) PublisherNews(now time.Time) []PublisherNews {
	var all []PublisherNews
	for t, u := range a.publishers {
		if n, some := u.News(now); some {
			all = append(all, PublisherNews{string(t.name), u.ID(), n})
		}
	}
	return all
}
