package recorder

import "github.com/gorosbag/gorosbag/tcpros"

// announce offers begin_write, on which stock tells the name of each file that it
// begins, and returns what tells it.
func announce(n *tcpros.Node) (func(target string), error) {
	pub, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic:             "begin_write",
		Type:              stringType,
		MD5Sum:            stringMD5,
		MessageDefinition: stringDefinition,
		Latching:          true,
		QueueFrames:       100,
	})
	if err != nil {
		return nil, err
	}
	source := pub.Source(true)
	return func(target string) { source.Publish(stringFrame([]byte(target))) }, nil
}
