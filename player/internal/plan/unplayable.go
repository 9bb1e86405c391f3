package plan

import "github.com/gorosbag/gorosbag/player/control"

// Callers returns the caller IDs of all original publishers, in the order of the bags.
func (p *Plan) Callers() []string {
	var all []string
	known := map[string]bool{}
	for _, b := range p.Bags {
		for _, c := range b.Source.Connections() {
			if id := c.Header.CallerID(); b.Playable(c) && !known[id] {
				all, known[id] = append(all, id), true
			}
		}
	}
	return all
}

// Unplayable lists the connections that were not played, with their numbers of messages.
func (p *Plan) Unplayable() []control.Unplayable {
	var all []control.Unplayable
	for _, b := range p.Bags {
		for _, c := range b.Source.Connections() {
			if r := b.Routes[c]; r != nil && r.Reason != "" {
				all = append(all, control.Unplayable{
					Bag: b.Name, Topic: r.name, Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(),
					Reason: r.Reason, Remedy: r.remedy, Messages: r.Skipped.Load(),
				})
			}
		}
	}
	return all
}
