package plan

import (
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/msgtypes"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// headerStamps returns what finds the stamps in messages of the topic, or nil if they have
// none. A definition that does not say where the stamps are is an error.
func (t *Topic) headerStamps() (*rosmsg.HeaderStamps, error) {
	definition := t.Definition
	if definition == "" {
		definition = KnownDefinition(t.MD5Sum)
	}
	typ, err := msgtypes.Parse(t.Type, t.MD5Sum, definition)
	if err != nil {
		return nil, err
	}
	if typ.MD5Sum() != t.MD5Sum && t.MD5Sum != tcpros.AnyMD5 {
		return nil, fmt.Errorf("the definition of %s has md5sum %s, the messages are of %s", t.Type, typ.MD5Sum(), t.MD5Sum)
	}
	return typ.HeaderStamps(), nil
}

// KnownDefinition returns the definition of a type, given by its md5sum, for bags that have none. It
// returns "" for a type that is not known.
func KnownDefinition(md5 string) string { return knownDefinitions[md5] }

// knownDefinitions are the definitions of types whose stamps are set even if a bag has no definition,
// by md5sum.
var knownDefinitions = map[string]string{
	stdmsg.ClockMD5: "time clock",
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
// definition does not say where they are keep theirs.
func (p *Plan) findStamps() {
	for _, t := range p.Topics {
		var err error
		if t.Stamps, err = t.headerStamps(); err != nil {
			p.Log.Warn("the stamps of a topic stay as they were recorded", loglimit.Each(), zap.String("topic", t.Name), zap.Error(err))
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
