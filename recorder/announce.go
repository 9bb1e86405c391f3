package recorder

import (
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/tcpros"
)

// announce advertises begin_write, on which stock publishes the name of each file that it
// begins, and returns the function that publishes a name.
func announce(n *tcpros.Node) (func(target string), error) {
	pub, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic:             "begin_write",
		Type:              note.Type,
		MD5Sum:            note.MD5Sum,
		MessageDefinition: note.Definition,
		Latching:          true,
		QueueFrames:       100,
	})
	if err != nil {
		return nil, err
	}
	source := pub.Source(true)
	return func(target string) { source.Publish(annotations.TextFrame([]byte(target))) }, nil
}
