package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/moment"
)

// PlaySelect says what of the bags goplay publishes, under which name, in which order
// and to whom.
type PlaySelect struct {
	Bags    []string `group:"What to play:" sep:"none" placeholder:"BAG" stock:"" help:"Further bags to play. Takes several values: ends a list of --topics."`
	Topics  []string `group:"What to play:" sep:"none" placeholder:"TOPIC" stock:"" help:"Play only these topics, by their names in the bag: names, or globs in which * stands for any text without a slash and ** for any text; the leading / may be left out. With --regex these are regular expressions. Takes several values: give the bags before it, or after it with --bags."`
	Type    []string `group:"What to play:" sep:"none" placeholder:"TYPE" help:"Play all topics of this type, such as sensor_msgs/Image or sensor_msgs/*, beside those of --topics. May be given several times."`
	Exclude []string `group:"What to play:" short:"x" sep:"none" placeholder:"TOPIC" help:"Exclude this topic, written as for --topics; takes precedence over --topics. May be given several times."`
	Regex   bool     `group:"What to play:" short:"e" help:"Read the topics of --topics, --exclude, --rename, --deny and --wait-for as regular expressions (RE2 syntax, matching the whole name)."`

	moment.Window `embed:"" group:"What to play:"`

	Order string `group:"What to play:" default:"received" placeholder:"received|header" enum:"received,header" help:"Play in the order and with the timing of the times at which messages were received, or of their header.stamp (default ${default}). Messages without a header keep the time at which they were received, and so do those whose stamp is further from it than --order-reach."`

	OrderReach moment.Seconds `group:"What to play:" default:"1" placeholder:"TIME" help:"With --order=header: how far a stamp may be from the time at which the message was received (default ${default} s). So much of the bags is read before the first message, and twice as much after a seek, which takes a while with bzip2. It is held in memory, up to 128 MiB."`

	MaxChunk ChunkLimit `group:"What to play:" default:"512M" placeholder:"SIZE" help:"Unpack compressed chunks of at most this size, such as 1G (default ${default}, at most 2047M). Larger ones are left out, and counted as lost: a hostile bag of a few kB could fill the memory."`

	Rename []string `group:"Names:" sep:"none" placeholder:"FROM=TO" help:"Play the topic FROM, by its name in the bag, as TO. In TO, the wildcards of a glob are replaced by what they matched (/cam*/image=/old/cam*/image), with --regex $$1 does for a group. FROM:TYPE=TO applies to one type only, where a topic has several (/a:std_msgs/String=/a_text). The first match applies. Then --prefix is prepended, then names are resolved and remapped; /a:=/b remaps names of the node. May be given several times."`
	Prefix string   `group:"Names:" short:"p" placeholder:"PREFIX" stock:"" help:"Put PREFIX in front of each topic name as it is, before names are resolved."`

	RespectPublishers bool `group:"Names:" help:"Start a node for each recorded publisher, with its name, and publish from it. If a name is in use, _play is appended."`

	DryRun bool     `group:"Before the first message:" help:"Print what would be played, and who publishes and subscribes to these topics now, and exit. Nothing is published or advertised."`
	Deny   []string `group:"Before the first message:" sep:"none" placeholder:"TOPIC" help:"Refuse to start when this topic would be published, whatever its name in the bag. A glob as for --topics. May be given several times."`

	LinkTimeout        moment.Seconds `group:"Before the first message:" default:"2" placeholder:"TIME" help:"Wait at most this long for subscribers that the master lists when play begins, so that they miss nothing (default ${default} s; 0: do not wait). Those that do not run any more are not waited for. A warning names those that have not connected by then."`
	WaitForSubscribers bool           `group:"Before the first message:" stock:"" help:"Wait until each topic has a subscriber."`
	WaitFor            []string       `group:"Before the first message:" sep:"none" placeholder:"TOPIC" help:"Wait until this topic, by its final name, has a subscriber. A glob as for --topics. May be given several times."`
	WaitTimeout        moment.Seconds `group:"Before the first message:" placeholder:"TIME" help:"Wait no longer than this for subscribers, then exit with 1 and say which topics have none."`
}

// checkSelect checks what the tags cannot say.
func (p *PlaySelect) checkSelect() error {
	var errs refusals
	if slices.Contains(slices.Concat(p.Topics, p.Exclude, p.Deny, p.WaitFor), "") {
		errs = append(errs, errorAbout("a topic must not be empty", "topics", "exclude", "deny", "wait-for"))
	}
	errs.refuse(p.OrderReach <= 0, "--order-reach %v must be positive", time.Duration(p.OrderReach))
	errs.refuse(p.LinkTimeout < 0, "--link-timeout %v must be 0 or positive", time.Duration(p.LinkTimeout))
	errs.refuse(p.WaitTimeout < 0, "--wait-timeout %v must be positive", time.Duration(p.WaitTimeout))
	errs.refuse(p.WaitTimeout > 0 && !p.WaitForSubscribers && len(p.WaitFor) == 0, "--wait-timeout needs --wait-for or --wait-for-subscribers")
	return errors.Join(errs...)
}

// Part returns where play starts, in time since the earliest message of the bags, and how long it
// plays; zero means to the end.
func (p *PlaySelect) Part(bags *moment.Bags) (start, length time.Duration, err error) {
	from, to, bounded, err := p.Times(bags)
	switch {
	case err != nil:
		return 0, 0, err
	case !bounded:
		return from - bags.First, 0, nil
	case to <= bags.First:
		return 0, 0, fmt.Errorf("--until is %v before the earliest message of the bags: there is nothing to play", bags.First-to)
	case to <= from:
		return 0, 0, fmt.Errorf("--until is %v before --start: there is nothing to play", from-to)
	}
	return from - bags.First, to - from, nil
}
