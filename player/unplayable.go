package player

import "github.com/gorosbag/gorosbag/player/control"

// callers returns the caller IDs of all original publishers, in the order of the bags.
func (p *plan) callers() []string {
	var all []string
	known := map[string]bool{}
	for _, b := range p.bags {
		for _, c := range b.source.Connections() {
			if id := c.Header.CallerID(); b.playable(c) && !known[id] {
				all, known[id] = append(all, id), true
			}
		}
	}
	return all
}

// unplayable lists the connections that were not played, with their numbers of messages.
func (p *plan) unplayable() []control.Unplayable {
	var all []control.Unplayable
	for _, b := range p.bags {
		for _, c := range b.source.Connections() {
			if r := b.routes[c]; r != nil && r.reason != "" {
				all = append(all, control.Unplayable{
					Bag: b.name, Topic: r.name, Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(),
					Reason: r.reason, Remedy: r.remedy, Messages: r.skipped.Load(),
				})
			}
		}
	}
	return all
}
