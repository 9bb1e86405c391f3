package main

import (
	"context"
	"net/url"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/recorder"
)

// serveWeb serves the web page, the API and the metrics, if they are switched on, until end is
// called.
func serveWeb(ctx context.Context, s *settings, o *recorder.Options, face *recordface.Face) (end func(), err error) {
	if s.Web.Listen == "" {
		return func() {}, nil
	}
	hosts := s.Web.Hosts
	if u, err := url.Parse(o.Node.URI()); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	server, err := web.Serve(ctx, web.Options{
		Listen: s.Web.Listen, Token: s.Web.Token(), Hosts: hosts, Origins: s.Web.Origins,
		Node: o.Node.Name(), Version: program.Version(), MasterUp: o.Node.MasterUp, Unread: o.Node.Unread, Log: o.Log,
	}, face)
	if err != nil {
		return nil, err
	}
	return server.Close, nil
}
