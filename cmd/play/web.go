package main

import (
	"cmp"
	"context"
	"net/url"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/playface"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/internal/web/foxglove"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

// newViewing shows what is played to live viewers, if there is a web server for them; otherwise it
// returns nil.
func newViewing(c *config.Play, node *tcpros.Node) *player.Viewing {
	if c.Web.Listen == "" {
		return nil
	}
	return player.NewViewing(player.ViewingOptions{
		Name: name + " " + node.Name(), Distro: cmp.Or(c.Getenv("ROS_DISTRO"), "noetic"), Graph: node.Master().SystemState,
	})
}

// serveWeb serves the web page, the API and the metrics, if they are switched on, until end is
// called. page is empty until its control is attached.
func serveWeb(ctx context.Context, c *config.Play, node *tcpros.Node, page *playface.Page, viewing *player.Viewing, log *zap.Logger) (end func(), err error) {
	if c.Web.Listen == "" {
		return func() {}, nil
	}
	token, err := c.Web.Secret()
	if err != nil {
		return nil, err
	}
	hosts := c.Web.Hosts
	if u, err := url.Parse(node.URI()); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	server, err := web.Serve(ctx, web.Options{
		Listen: string(c.Web.Listen), Token: token, Hosts: hosts, Origins: c.Web.Origins, Live: foxglove.New(viewing.Source(), log),
		Node: node.Name(), Version: program.Version(), MasterUp: node.MasterUp, Unread: node.Unread, Log: log,
	}, page)
	if err != nil {
		return nil, err
	}
	return server.Close, nil
}
