package publink

// Adapted is what some subscribers of a topic get instead of the published frames. Subscribers with the
// same *Adapted share what it makes of a frame.
type Adapted struct {
	Type              string // the reply to these subscribers has this, and the next two
	MD5Sum            string
	MessageDefinition string
	// Frame returns what becomes of a published frame, in memory of its own; nil leaves the frame out. It
	// is called under a lock, once for each frame, and must not block.
	Frame func(frame []byte) []byte
}

// variant is an Adapted that links get.
type variant struct {
	*Adapted
	frame []byte // what has become of the frame that is being published; nil if that is left out
}

// variantOf returns the variant of links that get a.
func (p *Publication) variantOf(a *Adapted) *variant {
	if a == nil {
		return nil
	}
	for _, v := range p.adapted {
		if v.Adapted == a {
			return v
		}
	}
	v := &variant{Adapted: a}
	p.adapted = append(p.adapted, v)
	return v
}
