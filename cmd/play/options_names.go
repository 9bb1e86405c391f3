package main

import (
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/player"
)

// nameSettings are options about names that the command carries out.
type nameSettings struct {
	respectPublishers bool // a node for each recorded publisher
}

func (n *nameSettings) group(o *player.Options) config.Group {
	rules := func() []config.Rule {
		return config.Each([]string{"rename", "regex"}, func(rule string) error {
			_, err := topicmatch.ParseRename(rule, o.Regex)
			return err
		}, o.Rename...)
	}
	return config.Group{Title: "Names", Rules: rules, Options: []config.Option{
		{Name: "rename", Arg: "FROM=TO", Value: config.Texts(&o.Rename), Help: `
			Play the topic FROM, by its name in the bag, as TO. In TO, each wildcard of a glob is replaced by the text that it matched
			(/cam*/image=/old/cam*/image), and with --regex $$1 by the text of the first group. FROM:TYPE=TO applies to one type only, where a topic has several
			(/a:std_msgs/String=/a_text). The first match applies. Then --prefix is prepended, then names are resolved and remapped; /a:=/b remaps
			names of the node. May be given several times.`},
		{Name: "prefix", Short: "p", Arg: "PREFIX", Stock: true, Value: config.Text(&o.Prefix), Help: `
			Put PREFIX in front of each topic name as it is, before names are resolved.`},
		{Name: "to-wanted", Value: config.Switch(&o.ToWanted), Help: `
			Convert messages while playing for subscribers that want another version of their type: fields are matched by name, as in gobag fix. Nothing
			is converted that would lose a value or needs a decision. Python nodes say what they want; for C++ nodes see --definitions. All others get
			what was recorded.`},
		{Name: "respect-publishers", Value: config.Switch(&n.respectPublishers), Help: `
			Start a node for each recorded publisher, with its name, and publish from it. If a name is in use, _play is appended.`},
	}}
}
