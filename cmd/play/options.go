package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/face/rosctl"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

const name = "goplay"

// commands are what the program does besides, if its command line begins with their name.
func commands() program.Subcommands {
	return program.Subcommands{doors.HealthcheckHelp(name)}
}

// settings are what the options of goplay set.
type settings struct {
	options.Common
	// but for what only a running program has, such as the node, and what is read from bags
	play player.Options

	selection selectionSettings
	names     nameSettings
	begin     beginSettings
	pace      paceSettings
	control   controlSettings
}

const help = `Publish the messages of bag files again, with the original timing and latching.

ROS arguments work as in every node: __name:=, __ns:=, __master:=, __ip:=, __hostname:= and /from:=/to. ` +
	`Keys while playing: space pauses and resumes, s plays one message while paused, arrows seek and change the rate, ? lists all keys. ` +
	`Exit code: 0 all messages were played, 1 usage or start-up error, 2 internal error, 3 messages were lost or a bag is damaged.`

// program returns the options of goplay, which set s.
func (s *settings) program() *config.Program {
	o := &s.play
	return &config.Program{
		Name: name, Version: program.Version(), Help: help + commands().List(),
		Words: config.Words{
			Name: "bag", Option: "bags",
			Help: `Bags to play; directories, and URLs that end with a slash, stand for the bags in them. Several play as one,
				merged by time.`,
		},
		Groups: append([]config.Group{
			s.selection.group(o), s.names.group(o), s.begin.group(o), s.pace.group(o), clockOptions(o),
			s.control.group(),
			s.Web.Group(web.CheckToken, func(address string, hasToken bool) error {
				return web.CheckListen(context.Background(), address, hasToken)
			}),
			s.ROS.Group(),
		}, s.Groups(config.Option{
			Name: "try-future-version", Stock: true, Value: config.Switch(new(bool)),
			Help: `Accepted and without effect, as in rosbag play.`,
		})...),
		Complete: func() { o.Loop, o.LoopShift = s.pace.loop.on, s.pace.loop.shift },
	}
}

// parse reads the command line, the environment and the file. Its error has all that is wrong.
func parse(args []string) (*settings, error) {
	s := new(settings)
	_, err := s.program().Parse(args)
	return s, err
}

// options returns the options of the player for bags, but for the node.
func (s *settings) options(bags []*player.Bag, log *zap.Logger) (player.Options, error) {
	o := s.play
	o.Bags, o.Log = bags, log
	if o.Regex {
		for _, list := range [][]string{o.Topics, o.Exclude, o.Deny, o.WaitFor} {
			program.WarnGlobLike(log, "-e", list)
		}
	}
	var err error
	if o.Definitions, err = s.selection.known(); err != nil {
		return o, err
	}
	return o, s.selection.setWindow(&o)
}

// join sets the node that plays, and what it publishes beside the bags.
func (s *settings) join(o *player.Options, node *tcpros.Node) {
	o.Node = node
	if !s.control.noServices {
		o.Own = []string{rosctl.StatusTopic}
	}
}
