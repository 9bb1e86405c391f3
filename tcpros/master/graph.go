package master

import (
	"os"

	"go.uber.org/zap"
)

func (m *Master) getURI(call) reply { return success(m.uri, "") }

func (m *Master) getPid(call) reply { return success(os.Getpid(), "") }

func (m *Master) shutdown(c call) reply {
	reason := c.str(0)
	if m.onShutdown == nil {
		m.log.Warn("shutdown refused", zap.String("caller", c.caller), zap.String("peer", c.peer), zap.String("reason", reason))
		return reply{codeFailure, "shutdown of the master is not allowed", 0}
	}
	m.onShutdown(c.caller, reason, c.peer)
	return success(0, "shutdown")
}

var errFull = reply{codeFailure, "Internal failure: too many registrations", 0}

func (m *Master) registerPublisher(c call) reply {
	topic, typ, from := c.str(0), c.str(1), ref{c.caller, c.str(2)}
	if m.reg.full() {
		return reply{errFull.code, errFull.text, []any{}}
	}
	b := m.reg.register(publisher, topic, from)
	m.reg.publisherType(topic, typ)
	m.notifyReplaced(from.caller, b, topic)
	m.notifySubscribers(topic)
	m.log.Debug("publisher registered", zap.String("topic", topic), zap.String("node", c.caller), zap.String("uri", from.uri))
	return success(m.reg.uris(subscriber, topic), "Registered [%s] as publisher of [%s]", c.caller, topic)
}

func (m *Master) unregisterPublisher(c call) reply {
	topic, from := c.str(0), ref{c.caller, c.str(1)}
	o := m.reg.unregister(publisher, topic, from)
	if o == removed {
		m.notifySubscribers(topic)
	}
	m.log.Debug("publisher unregistered", zap.String("topic", topic), zap.String("node", c.caller), zap.Bool("known", o == removed))
	return unregistered(o, c.caller, topic)
}

func (m *Master) registerSubscriber(c call) reply {
	topic, typ, from := c.str(0), c.str(1), ref{c.caller, c.str(2)}
	if m.reg.full() {
		return reply{errFull.code, errFull.text, []any{}}
	}
	b := m.reg.register(subscriber, topic, from)
	m.reg.subscriberType(topic, typ)
	m.notifyReplaced(from.caller, b, "")
	m.log.Debug("subscriber registered", zap.String("topic", topic), zap.String("node", c.caller), zap.String("uri", from.uri))
	return success(m.reg.uris(publisher, topic), "Subscribed to [%s]", topic)
}

func (m *Master) unregisterSubscriber(c call) reply {
	topic, from := c.str(0), ref{c.caller, c.str(1)}
	o := m.reg.unregister(subscriber, topic, from)
	m.log.Debug("subscriber unregistered", zap.String("topic", topic), zap.String("node", c.caller), zap.Bool("known", o == removed))
	return unregistered(o, c.caller, topic)
}

func (m *Master) registerService(c call) reply {
	name, at, from := c.str(0), c.str(1), ref{c.caller, c.str(2)}
	if m.reg.full() {
		return errFull
	}
	m.notifyReplaced(from.caller, m.reg.registerService(name, from, at), "")
	m.log.Debug("service registered", zap.String("service", name), zap.String("node", c.caller), zap.String("uri", at))
	return success(1, "Registered [%s] as provider of [%s]", c.caller, name)
}

func (m *Master) unregisterService(c call) reply {
	name, at := c.str(0), c.str(1)
	o := m.reg.unregisterService(name, c.caller, at)
	m.log.Debug("service unregistered", zap.String("service", name), zap.String("node", c.caller), zap.Bool("known", o == removed))
	if o == notProvider {
		return success(0, "[%s] is no longer the current service api handle for [%s]", at, name)
	}
	return unregistered(o, c.caller, name)
}

func unregistered(o outcome, caller, name string) reply {
	switch o {
	case removed:
		return success(1, "Unregistered [%s] as provider of [%s]", caller, name)
	case notProvider:
		return success(0, "[%s] is not a known provider of [%s]", caller, name)
	case unknownNode:
	}
	return success(0, "[%s] is not a registered node", caller)
}

func (m *Master) lookupService(c call) reply {
	p, ok := m.reg.services[c.str(0)]
	if !ok {
		return reply{codeError, "no provider", ""}
	}
	return success(p.serviceURI, "rosrpc URI: [%s]", p.serviceURI)
}

func (m *Master) lookupNode(c call) reply {
	n, ok := m.reg.nodes[c.str(0)]
	if !ok {
		return reply{codeError, "unknown node [" + c.str(0) + "]", ""}
	}
	return success(n.uri, "node api")
}

func (m *Master) getPublishedTopics(c call) reply {
	prefix := c.str(0)
	if prefix != "" && prefix[len(prefix)-1] != '/' {
		prefix += "/"
	}
	return success(m.reg.publishedTopics(prefix), "current topics")
}

func (m *Master) getTopicTypes(call) reply {
	return success(m.reg.topicTypes(), "current system state")
}

func (m *Master) getSystemState(call) reply {
	return success(m.reg.systemState(), "current system state")
}

// notifyReplaced notifies a node that another one took its name, and the subscribers of its
// topics that it is gone. Subscribers of the topic except are notified anyway. The lock is held.
func (m *Master) notifyReplaced(name string, b replacement, except string) {
	if b.uri == "" {
		return
	}
	m.log.Warn("node replaced by another with its name", zap.String("node", name), zap.String("old", b.uri))
	m.notify.send(b.uri, &notice{
		key: "shutdown " + name, method: "shutdown", once: true,
		args: func() []any { return []any{"/master", "[" + name + "] Reason: new node registered with same name"} },
	})
	for _, topic := range b.topics {
		if topic != except {
			m.notifySubscribers(topic)
		}
	}
}

// notifySubscribers sends the list of publishers of a topic to its subscribers. The lock is held.
func (m *Master) notifySubscribers(topic string) {
	x := &notice{
		key: "publishers of " + topic, method: "publisherUpdate",
		args: func() []any { return []any{"/master", topic, m.reg.uris(publisher, topic)} },
	}
	for _, uri := range m.reg.uris(subscriber, topic) {
		m.notify.send(uri, x)
	}
}
