package rosapi

import (
	"context"
	"errors"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// topicList is the last list of topics of the master. The recorder asks for the list each second,
// and mostly gets the same list.
type topicList struct {
	body   []byte // memory that the next call reuses
	sum    uint64 // checksum of body
	topics []TopicInfo
}

// TopicInfo is one topic and its type, "*" if the type is not known.
type TopicInfo struct{ Name, Type string }

// PublishedTopics lists the topics that have a publisher. Several calls may return the same list:
// the caller must not change it.
func (m *Master) PublishedTopics(ctx context.Context) ([]TopicInfo, error) {
	m.topicsMu.Lock()
	defer m.topicsMu.Unlock()
	got := reply{body: m.listed.body, last: &m.listed.sum}
	// goroslib takes three times as long
	v, err := m.exchange(ctx, m.api, masterReply, &got, "getPublishedTopics", "")
	if m.listed.body = got.body[:0]; cap(got.body) > sameListMost {
		m.listed.body = nil
	}
	switch {
	case err != nil:
		return nil, err
	case got.same:
		return m.listed.topics, nil
	}
	topics, err := topicRows(v)
	if err != nil {
		m.listed.sum = 0
		return nil, &CallError{"getPublishedTopics", m.uri, err, true}
	}
	m.listed.topics = topics
	return topics, nil
}

// NodeSubscriptions asks the node at uri for the topics that it subscribes to.
func (m *Master) NodeSubscriptions(ctx context.Context, uri string) ([]TopicInfo, error) {
	return m.topics(ctx, uri, SlaveReply, "getSubscriptions") // goroslib has no such call
}

// NodePublications asks the node at uri for the topics that it publishes.
func (m *Master) NodePublications(ctx context.Context, uri string) ([]TopicInfo, error) {
	return m.topics(ctx, uri, SlaveReply, "getPublications")
}

// topics makes a call whose reply is rows of topic and type.
func (m *Master) topics(
	ctx context.Context, uri string, l xmlrpc.Limits, method string,
) ([]TopicInfo, error) {
	v, err := m.Raw(ctx, uri, l, method)
	if err != nil {
		return nil, err
	}
	topics, err := topicRows(v)
	if err != nil {
		return nil, &CallError{method, uri, err, true}
	}
	return topics, nil
}

// topicRows reads rows of topic and type, without rows whose name was skipped.
func topicRows(v any) ([]TopicInfo, error) {
	rows, ok := v.([]any)
	out := make([]TopicInfo, 0, len(rows))
	for i := range rows {
		row, _ := Arg[[]any](rows, i)
		name, ok1 := Arg[string](row, 0)
		typ, ok2 := Arg[string](row, 1)
		switch {
		case skippedArg(row, 0):
			continue
		case skippedArg(row, 1):
			typ, ok2 = names.AnyType, true
		}
		out = append(out, TopicInfo{name, typ})
		ok = ok && ok1 && ok2
	}
	if !ok {
		return nil, errors.New("answered no list of topics and types")
	}
	return out, nil
}

// textList reads a list of texts, without skipped texts.
func textList(v any) (texts []string, ok bool) {
	list, ok := v.([]any)
	texts = make([]string, 0, len(list))
	for i := range list {
		text, isText := Arg[string](list, i)
		if skippedArg(list, i) {
			continue
		}
		texts = append(texts, text)
		ok = ok && isText
	}
	return texts, ok
}

// skippedArg reports whether argument i is a text that was skipped for its length.
func skippedArg(args []any, i int) bool {
	_, ok := Arg[xmlrpc.Skipped](args, i)
	return ok
}
