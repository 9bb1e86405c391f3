package config

import "github.com/gorosbag/gorosbag/internal/moment"

// PlayControl says how other nodes may steer goplay.
type PlayControl struct {
	RateControlTopic    string         `group:"How to play:" placeholder:"TOPIC" stock:"" help:"Wait while playback is further than --rate-control-max-delay ahead of the header.stamp of the last message of this topic. Its type has to begin with a header."`
	RateControlMaxDelay moment.Seconds `group:"How to play:" default:"1" placeholder:"SEC" stock:"" help:"How far playback may be ahead of --rate-control-topic (default ${default})."`

	NoServices bool `group:"Control and screen:" help:"Do not offer services such as ~pause_playback and ~step, nor command topics such as ~seek, nor the topic ~status."`
}
