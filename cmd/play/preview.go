package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/rosbag"
)

const stampLayout = "2006-01-02 15:04:05.000 MST"

// previewText returns what goplay --dry-run prints.
func previewText(p *player.Preview) string {
	var b strings.Builder
	rows := [][]string{{
		"messages", "hz", "latched", "topic", "type", "in the bag", "recorded from",
		"published by", "heard by",
	}}
	var messages uint64
	shared, heard := 0, 0
	for i := range p.Topics {
		x := &p.Topics[i]
		messages += x.Messages
		shared += min(len(x.Publishers), 1)
		heard += min(len(x.Listeners), 1)
		rows = append(rows, []string{
			strconv.FormatUint(x.Messages, 10), fmt.Sprintf("%.1f", x.Rate),
			map[bool]string{true: "yes"}[x.Latching], termtext.Plain(x.Name), termtext.Plain(x.Type),
			unless(x.Recorded, x.Name), nodes(x.CallerIDs), nodes(x.Publishers), nodes(x.Listeners),
		})
	}
	b.WriteString(termtext.Columns(rows, 3))
	fmt.Fprintf(&b, "%s on %s, %.3f s, from %s to %s\n", wording.Plural(messages, "message"),
		wording.Plural(len(p.Topics), "topic"), p.End.Sub(p.Start).Seconds(),
		p.Start.Std().Local().Format(stampLayout), p.End.Std().Local().Format(stampLayout))
	for i := range p.Topics {
		x := &p.Topics[i]
		for _, u := range x.Unfit {
			fmt.Fprintf(&b, "%s %s: %s: %s\n", termtext.Plain(u.Node), u.Fate, termtext.Plain(x.Name),
				termtext.Plain(u.Why))
		}
	}
	for _, u := range p.Unplayable {
		fmt.Fprintf(&b, "cannot be played: %s of %s: %s\n", termtext.Plain(u.Topic), termtext.Plain(u.Bag),
			termtext.Plain(u.Reason))
	}
	for _, d := range p.Damage {
		what := "damaged"
		if errors.Is(d, rosbag.ErrLeftOut) {
			what = "left out"
		}
		fmt.Fprintf(&b, "%s: %s\n", what, termtext.Plain(d.Error()))
	}
	if p.Graph != nil {
		fmt.Fprintf(&b, "there is no answer from a master, so who publishes and hears these topics at present is not known: %s\n", termtext.Plain(p.Graph.Error()))
	} else {
		fmt.Fprintf(&b, "at present %d of these topics have subscribers, and %d have other publishers\n",
			heard, shared)
	}
	return b.String()
}

// nodes joins the names of nodes.
func nodes(names []string) string {
	plain := make([]string, len(names))
	for i, n := range names {
		plain[i] = termtext.Plain(n)
	}
	return strings.Join(plain, " ")
}

// unless is nodes, but empty if there is only the one name.
func unless(names []string, name string) string {
	if len(names) == 1 && names[0] == name {
		return ""
	}
	return nodes(names)
}
