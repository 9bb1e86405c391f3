package player

import (
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/msgtypes"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// headerStamps returns what finds the stamps in messages of the topic, or nil if they have
// none. It is an error if the definition does not tell.
func (t *topic) headerStamps() (*rosmsg.HeaderStamps, error) {
	definition := t.definition
	if definition == "" {
		definition = knownDefinition(t.md5)
	}
	typ, err := msgtypes.Parse(t.typ, t.md5, definition)
	if err != nil {
		return nil, err
	}
	if typ.MD5Sum() != t.md5 && t.md5 != tcpros.AnyMD5 {
		return nil, fmt.Errorf("the definition of %s has md5sum %s, the messages are of %s", t.typ, typ.MD5Sum(), t.md5)
	}
	return typ.HeaderStamps(), nil
}

// knownDefinition returns the definition of a type that is played with stamps also if a bag has no
// definition, by its md5sum, or "".
func knownDefinition(md5 string) string { return knownDefinitions[md5] }

// knownDefinitions are those of types that are played with stamps also if a bag has no
// definition, by their md5sum.
var knownDefinitions = map[string]string{ //nolint:gochecknoglobals // a constant, but for the language
	clockMD5: "time clock",
	"94810edda583a504dfda3829e70d7eec": strings.ReplaceAll( // tf2_msgs/TFMessage and tf/tfMessage
		"geometry_msgs/TransformStamped[] transforms\n"+
			"=MSG: geometry_msgs/TransformStamped\nHeader header\nstring child_frame_id\nTransform transform\n"+
			"=MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"+
			"=MSG: geometry_msgs/Transform\nVector3 translation\nQuaternion rotation\n"+
			"=MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"+
			"=MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
		"=", strings.Repeat("=", 80)+"\n"),
}

// findStamps prepares setting the stamps in the messages of each topic. Topics whose
// definition does not tell where they are keep theirs.
func (p *plan) findStamps() {
	for _, t := range p.topics {
		var err error
		if t.stamps, err = t.headerStamps(); err != nil {
			p.log.Warn("the stamps of a topic stay as they were recorded", loglimit.Each(), zap.String("topic", t.name), zap.Error(err))
		}
	}
}

// copyStamped has the reader copy the frames whose stamps will be set. It does not copy those
// that are latched: they may be published again, with other stamps.
func (p *plan) copyStamped() {
	for _, b := range p.bags {
		for _, r := range b.routes {
			r.private = r.topic != nil && r.topic.stamps != nil && !r.publisher.latching
		}
	}
}
