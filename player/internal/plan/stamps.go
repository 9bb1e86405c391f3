package plan

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// headerStamps returns what finds the stamps in messages of the topic, or nil if they have
// none. A definition that does not say where the stamps are is an error.
func (t *Topic) headerStamps() (*rosmsg.HeaderStamps, error) {
	typ, err := msgdef.Parse(t.Type, t.MD5Sum, t.Definition)
	if err != nil {
		return nil, err
	}
	if typ.MD5Sum() != t.MD5Sum && t.MD5Sum != tcpros.AnyMD5 {
		return nil, fmt.Errorf("the definition of %s has md5sum %s, the messages are of %s", t.Type,
			typ.MD5Sum(), t.MD5Sum)
	}
	return typ.HeaderStamps(), nil
}

// findStamps prepares setting the stamps in the messages of each topic. Topics whose
// definition does not say where they are keep theirs.
func (p *Plan) findStamps() {
	for _, t := range p.Topics {
		var err error
		if t.Stamps, err = t.headerStamps(); err != nil {
			p.Log.Warn("the stamps of a topic stay as they were recorded", loglimit.Each(),
				zap.String("topic", string(t.Name)), zap.Error(err))
		}
	}
}

// copyStamped has the reader copy the frames whose stamps will be set. It does not copy those
// that are latched: they may be published again, with other stamps.
func (p *Plan) copyStamped() {
	for r := range p.routes() {
		r.Private = r.Topic != nil && r.Topic.Stamps != nil && !r.Publisher.Latching
	}
}
