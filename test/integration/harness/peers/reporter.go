package peers

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// Reporter is a node that publishes its progress, for rate control.
type Reporter struct {
	g   *harness.Graph
	pub *tcpros.Publication
	To  *tcpros.Source
}

// Reports starts a publisher.
func Reports(g *harness.Graph, n *tcpros.Node, topic, typ, md5, definition string) *Reporter {
	g.T.Helper()
	pub, err := n.Advertise(tcpros.AdvertiseOptions{Topic: topic, Type: typ, MD5Sum: md5, MessageDefinition: definition})
	if err != nil {
		g.T.Fatal(err)
	}
	return &Reporter{g, pub, pub.Source(false)}
}

// WaitForSubscriber waits for a subscriber.
func (r *Reporter) WaitForSubscriber() {
	r.g.T.Helper()
	r.g.Eventually("somebody listens to "+r.pub.Topic(), func() bool { return r.pub.Subscribers() > 0 })
}

// Report publishes a geometry_msgs/PointStamped.
func (r *Reporter) Report(stamp rosbag.Time) {
	b := binary.LittleEndian.AppendUint32(nil, 3*4+4+3*8)
	for _, v := range []uint32{1, stamp.Sec, stamp.Nsec} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	r.To.Publish(append(b, make([]byte, 4+3*8)...))
}
