package config

// PlayControl says how other nodes may steer goplay.
type PlayControl struct {
	RateControlTopic    string  `group:"How to play:" placeholder:"TOPIC" stock:"" help:"Wait while play is further than --rate-control-max-delay ahead of the last message of this topic: of the stamp of its header, which has to be the first field of its type."`
	RateControlMaxDelay Seconds `group:"How to play:" default:"1" placeholder:"SEC" stock:"" help:"How far play may be ahead of --rate-control-topic (default ${default})."`

	NoServices bool `group:"Control and screen:" help:"Do not offer services such as ~pause_playback and ~step, nor command topics such as ~seek, nor the topic ~status."`
}
