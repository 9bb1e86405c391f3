package recorder

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/tcpros"
)

// announce offers begin_write, on which stock tells the name of each file that it
// begins, and returns what tells it.
func announce(n *tcpros.Node) (func(target string), error) {
	pub, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic:             "begin_write",
		Type:              "std_msgs/String",
		MD5Sum:            "992ce8a1687cec8c8bd883ec73ca41d1",
		MessageDefinition: "string data\n",
		Latching:          true,
		QueueFrames:       100,
	})
	if err != nil {
		return nil, err
	}
	source := pub.Source(true)
	return func(target string) {
		frame := binary.LittleEndian.AppendUint32(nil, uint32(4+len(target)))
		frame = binary.LittleEndian.AppendUint32(frame, uint32(len(target)))
		source.Publish(append(frame, target...))
	}, nil
}
