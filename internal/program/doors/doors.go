// Package doors opens the doors of a program that records or plays: the web page, the services, the
// reports to systemd, and the terminal. It knows no program: a Face is the program behind the doors.
package doors

import (
	"context"
	"net/url"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/rosctl"
	"github.com/gorosbag/gorosbag/internal/face/sdnotify"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/internal/view/live/foxglove"
	"github.com/gorosbag/gorosbag/internal/view/look"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Face is a program as its users see it.
type Face interface {
	web.Backend

	// Commands returns the commands of the program.
	Commands() []command.Command
	// KnownBy returns the service by which clients recognize the program.
	KnownBy() string
	// Status returns the state for the topic ~status, see rosctl.Options.
	Status(node string) (stamp time.Time, parts []stdmsg.DiagnosticStatus)
	// Service returns the state for systemd. ctx is done when the program is about to end.
	Service(ctx context.Context, node *tcpros.Node) sdnotify.State
}

// ServeWeb serves the web page, the API, the metrics and the live view of a face, if --http is given,
// until end is called. Without --http source may be nil.
func ServeWeb(ctx context.Context, w *options.Web, node *tcpros.Node, log *zap.Logger, face Face,
	source *live.Source,
) (end func(), err error) {
	if w.Listen == "" {
		if w.Token() != "" || w.ViewToken != "" || len(w.Hosts)+len(w.Origins) > 0 {
			log.Warn("no web page is served without --http: --http-token and the other options of the page have no effect")
		}
		return func() {}, nil
	}
	hosts := w.Hosts
	if u, err := url.Parse(node.URI()); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	watcher := look.New(source.Store, time.Now())
	server, err := web.Serve(ctx, web.Options{
		Listen: w.Listen, Token: w.Token(), ViewToken: w.ViewToken, Hosts: hosts, Origins: w.Origins,
		Node: node.Name(), Version: program.Version(), MasterUp: node.MasterUp, Unread: node.Unread, Log: log,
		Live: foxglove.New(*source, log),
	}, face)
	if err != nil {
		return nil, err
	}
	look.NewPanels(watcher).Routes(server)
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // end ends it
	var done sync.WaitGroup
	// owner: end; ends with life.
	done.Go(func() { watcher.Run(life) })
	return func() { //nolint:contextcheck // it ends after ctx
		server.Close()
		cancel()
		done.Wait()
	}, nil
}

// ServeGraph serves the commands and the status of a face on the ROS graph until end is called.
func ServeGraph(node *tcpros.Node, log *zap.Logger, face Face) (end func(), err error) {
	server, err := rosctl.Serve(rosctl.Options{
		Node: node, Log: log, Commands: face.Commands(), KnownBy: face.KnownBy(), Status: face.Status,
		Changed: face.Changed,
	})
	if err != nil {
		return nil, err
	}
	return server.Close, nil
}

// NotifySystemd reports the state of a face to systemd, if systemd has started the program, until end is
// called.
func NotifySystemd(ctx context.Context, node *tcpros.Node, log *zap.Logger, face Face) (end func()) {
	end, err := sdnotify.Watch(ctx, func() sdnotify.State { return face.Service(ctx, node) })
	if err != nil {
		log.Warn("systemd is not notified", zap.Error(err))
	}
	return end
}
