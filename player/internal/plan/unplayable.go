package plan

import "github.com/gorosbag/gorosbag/player/control"

// Callers returns the caller IDs of all original publishers, in the order of the bags.
func (p *Plan) Callers() []string {
	var all []string
	known := map[string]bool{}
	for r := range p.routes() {
		if id := r.Conn.Header.CallerID(); r.Reason == "" && !known[id] {
			all, known[id] = append(all, id), true
		}
	}
	return all
}

// Unplayable lists the connections that were not played, with their numbers of messages.
func (p *Plan) Unplayable() []control.Unplayable {
	var all []control.Unplayable
	for r := range p.routes() {
		if r.Reason != "" {
			all = append(all, control.Unplayable{
				Bag: r.Bag.Name, Topic: r.name, Type: r.Conn.Header.Type(), MD5Sum: r.Conn.Header.MD5Sum(),
				Reason: r.Reason, Remedy: r.remedy, Messages: r.Skipped.Load(),
			})
		}
	}
	return all
}
