package main

import (
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/recorder"
)

// linkOptions returns the options of ROS that goplay does not have.
func linkOptions(o *recorder.Options) config.Group {
	return config.Group{Title: "ROS", Options: []config.Option{
		{Name: "publish", Short: "p", Stock: true, Value: config.Switch(&o.Publish), Help: `
			Publish the name of each bag on the topic begin_write when recording to it begins.`},
		{
			Name: "tcpnodelay", Stock: true, Value: config.Switch(&o.TCPNoDelay),
			Help: `Ask the publishers for TCP_NODELAY.`,
		},
		{Name: "udp", Stock: true, Value: config.Switch(&o.UDP), Help: `
			Receive over UDPROS from publishers that have it, which can lose messages; from the others over TCPROS.`},
	}}
}
