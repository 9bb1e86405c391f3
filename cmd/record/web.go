package main

import (
	"context"
	"net/url"
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/internal/web/foxglove"
	"github.com/gorosbag/gorosbag/recorder"
)

// serveWeb serves the web page, the API and the metrics, if they are switched on, until end is
// called.
func serveWeb(ctx context.Context, c *config.Record, o *recorder.Options) (end func(), err error) {
	if c.Web.Listen == "" {
		return func() {}, nil
	}
	token, err := c.Web.Secret()
	if err != nil {
		return nil, err
	}
	hosts := c.Web.Hosts
	if u, err := url.Parse(o.Node.URI()); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	server, err := web.Serve(ctx, web.Options{
		Listen: string(c.Web.Listen), Token: token, Hosts: hosts, Origins: c.Web.Origins, Live: foxglove.New(o.Tap.Source(), o.Log),
		Node: o.Node.Name(), Version: program.Version(), MasterUp: o.Node.MasterUp, Unread: o.Node.Unread, Log: o.Log,
	}, recordface.NewPage(o.Control, time.Duration(c.Pin)))
	if err != nil {
		return nil, err
	}
	return server.Close, nil
}
