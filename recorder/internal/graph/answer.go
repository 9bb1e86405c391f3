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

// listedOf asks the master which of the publishers it still lists. The address has to be the same as well,
// because another process may have taken the name. It returns nil if the master does not answer.
func (g *Graph) listedOf(ctx context.Context, all []loss.Doubt) map[loss.Doubt]bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	state, err := g.Node.Master().SystemState(ctx)
	if err != nil {
		g.Log.Debug("the master does not say who is left", zap.Error(err))
		return nil // next time
	}
	uris := map[string]string{}
	listed := make(map[loss.Doubt]bool, len(all))
	for _, d := range all {
		if !slices.Contains(state.Publishers[d.Topic], d.Publisher) {
			listed[d] = false
			continue
		}
		uri, asked := uris[d.Publisher]
		if !asked {
			if uri, err = g.Node.Master().LookupNode(ctx, d.Publisher); err != nil && !errors.Is(err, tcpros.ErrStatus) {
				return nil
			}
			uris[d.Publisher] = uri
		}
		listed[d] = uri == d.URI
	}
	return listed
}

// passesOn reports whether the node of a publisher republishes messages of others without changing their
// numbers. Such nodes subscribe to messages of any type, as throttle, drop, mux and relay of topic_tools
// do, or play bags.
func (g *Graph) passesOn(ctx context.Context, d loss.Doubt) bool {
	name := d.Publisher
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if base := name[strings.LastIndexByte(name, '/')+1:]; strings.HasPrefix(base, "play_") {
		return true // as rosbag play and goplay call themselves, also when they are gone, or goplay with --no-services
	}
	topics, err := g.Node.Master().NodeSubscriptions(ctx, d.URI)
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
