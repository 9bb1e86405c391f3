package config

// PlayScreen holds the options of goplay's screen.
type PlayScreen struct {
	NoScreen bool `group:"Control and screen:" help:"In a terminal: print lines at events and every 10 s, without the live screen. The keys work."`
}
