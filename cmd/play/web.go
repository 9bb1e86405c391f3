package main

import (
	"context"
	"net/url"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/playface"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/tcpros"
)

// serveWeb serves the web page, the API and the metrics, if they are switched on, until end is
// called. face is empty until its control is attached.
func serveWeb(ctx context.Context, s *settings, node *tcpros.Node, face *playface.Face, log *zap.Logger) (end func(), err error) {
	if s.Web.Listen == "" {
		return func() {}, nil
	}
	hosts := s.Web.Hosts
	if u, err := url.Parse(node.URI()); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	server, err := web.Serve(ctx, web.Options{
		Listen: s.Web.Listen, Token: s.Web.Token(), Hosts: hosts, Origins: s.Web.Origins,
		Node: node.Name(), Version: program.Version(), MasterUp: node.MasterUp, Unread: node.Unread, Log: log,
	}, face)
	if err != nil {
		return nil, err
	}
	return server.Close, nil
}
