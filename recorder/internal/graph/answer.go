package graph

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

// answerTimeout bounds one question about a publisher.
const answerTimeout = 2 * time.Second

// stillListed asks the master which of the publishers it still lists. The address has to be the same as well,
// because another process may have taken the name. It returns nil if the master does not answer.
func (g *Graph) stillListed(ctx context.Context, all []loss.PublisherKey) map[loss.PublisherKey]bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	state, err := g.Node.Master().SystemState(ctx)
	if err != nil {
		g.Log.Debug("the master does not say which publishers are left", zap.Error(err))
		return nil // next time
	}
	uris := map[string]string{}
	listed := make(map[loss.PublisherKey]bool, len(all))
	for _, k := range all {
		if !slices.Contains(state.Publishers[k.Topic], k.Publisher) {
			listed[k] = false
			continue
		}
		uri, asked := uris[k.Publisher]
		if !asked {
			if uri, err = g.Node.Master().LookupNode(ctx, k.Publisher); err != nil && !errors.Is(err, tcpros.ErrStatus) {
				return nil
			}
			uris[k.Publisher] = uri
		}
		listed[k] = uri == k.URI
	}
	return listed
}

// isRelay reports whether the node of a publisher publishes messages of other nodes and keeps their numbers.
// Such nodes subscribe to topics of any type, as throttle, drop, mux and relay of topic_tools do, or play
// bags.
func (g *Graph) isRelay(ctx context.Context, k loss.PublisherKey) bool {
	name := k.Publisher
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if base := name[strings.LastIndexByte(name, '/')+1:]; strings.HasPrefix(base, "play_") {
		return true // the name of rosbag play and goplay, which may have ended; goplay may have no services
	}
	topics, err := g.Node.Master().NodeSubscriptions(ctx, k.URI)
	if err != nil {
		g.Log.Debug("the node does not say what it subscribes to", zap.String("node", name), zap.Error(err))
	}
	for _, t := range topics {
		if t.Type == "*" {
			return true
		}
	}
	_, err = g.Node.Master().LookupService(ctx, name+"/pause_playback")
	return err == nil
}
