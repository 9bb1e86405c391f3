package main

import (
	"cmp"

	"github.com/gorosbag/gorosbag/config"
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
		Name: "goplay " + node.Name(), Distro: cmp.Or(c.Getenv("ROS_DISTRO"), "noetic"), Graph: node.Master().SystemState,
	})
}
