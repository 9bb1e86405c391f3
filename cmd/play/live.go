package main

import (
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

// newViewing shows what is played to live viewers, if there is a web server for them; otherwise it
// returns nil.
func newViewing(s *settings, node *tcpros.Node) *player.Viewing {
	if s.Web.Listen == "" {
		return nil
	}
	return player.NewViewing(player.ViewingOptions{
		Name: "goplay " + node.Name(), Graph: node.Master().SystemState,
	})
}
