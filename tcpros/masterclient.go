package tcpros

import "context"

// Master is a client of the ROS master and of its parameter server.
type Master struct{}

// TopicInfo is one topic that has a publisher.
type TopicInfo struct{ Name, Type string }

// PublishedTopics lists the topics that have a publisher.
func (m *Master) PublishedTopics(ctx context.Context) ([]TopicInfo, error) { panic("tcpros: not yet") }

// LookupNode returns the slave URI of a node.
func (m *Master) LookupNode(ctx context.Context, name string) (string, error) {
	panic("tcpros: not yet")
}

// NodeSubscriptions asks the node at uri what it subscribes to.
func (m *Master) NodeSubscriptions(ctx context.Context, uri string) ([]TopicInfo, error) {
	panic("tcpros: not yet")
}

// NodePublications asks the node at uri what it publishes.
func (m *Master) NodePublications(ctx context.Context, uri string) ([]TopicInfo, error) {
	panic("tcpros: not yet")
}

// Param returns a parameter; ok is false when it is not set. The value is int,
// bool, string, float64, time.Time, []byte, []any or map[string]any.
func (m *Master) Param(ctx context.Context, key string) (value any, ok bool, err error) {
	panic("tcpros: not yet")
}

// SetParam sets a parameter.
func (m *Master) SetParam(ctx context.Context, key string, value any) error {
	panic("tcpros: not yet")
}
