package master

import (
	"os"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/master/internal/notify"
)

func (s *state) getURI(call) reply { return success(s.uri, "") }

func (s *state) getPid(call) reply { return success(os.Getpid(), "") }

func (s *state) shutdown(c call) reply {
	reason := c.str(0)
	if s.onShutdown == nil {
		s.log.Warn("shutdown refused", zap.String("caller", c.caller), zap.String("peer", c.peer),
			zap.String("reason", reason))
		return reply{codeFailure, "shutdown of the master is not allowed", 0}
	}
	s.onShutdown(c.caller, reason, c.peer)
	return success(0, "shutdown")
}

var errFull = reply{codeFailure, "Internal failure: too many registrations", 0}

func (s *state) registerPublisher(c call) reply {
	topic, typ, from := c.str(0), c.str(1), ref{c.caller, c.str(2)}
	if s.reg.full() {
		return reply{errFull.code, errFull.text, []any{}}
	}
	b := s.reg.register(publisher, topic, from)
	s.reg.publisherType(topic, typ)
	s.notifyReplacedLocked(from.caller, b, topic)
	s.notifySubscribersLocked(topic)
	s.log.Debug("publisher registered", zap.String("topic", topic), zap.String("node", c.caller),
		zap.String("uri", from.uri))
	return success(s.reg.uris(subscriber, topic), "Registered [%s] as publisher of [%s]", c.caller, topic)
}

func (s *state) unregisterPublisher(c call) reply {
	topic, from := c.str(0), ref{c.caller, c.str(1)}
	o := s.reg.unregister(publisher, topic, from)
	if o == removed {
		s.notifySubscribersLocked(topic)
	}
	s.log.Debug("publisher unregistered", zap.String("topic", topic), zap.String("node", c.caller),
		zap.Bool("known", o == removed))
	return unregistered(o, c.caller, topic)
}

func (s *state) registerSubscriber(c call) reply {
	topic, typ, from := c.str(0), c.str(1), ref{c.caller, c.str(2)}
	if s.reg.full() {
		return reply{errFull.code, errFull.text, []any{}}
	}
	b := s.reg.register(subscriber, topic, from)
	s.reg.subscriberType(topic, typ)
	s.notifyReplacedLocked(from.caller, b, "")
	s.log.Debug("subscriber registered", zap.String("topic", topic), zap.String("node", c.caller),
		zap.String("uri", from.uri))
	return success(s.reg.uris(publisher, topic), "Subscribed to [%s]", topic)
}

func (s *state) unregisterSubscriber(c call) reply {
	topic, from := c.str(0), ref{c.caller, c.str(1)}
	o := s.reg.unregister(subscriber, topic, from)
	s.log.Debug("subscriber unregistered", zap.String("topic", topic), zap.String("node", c.caller),
		zap.Bool("known", o == removed))
	return unregistered(o, c.caller, topic)
}

func (s *state) registerService(c call) reply {
	name, at, from := c.str(0), c.str(1), ref{c.caller, c.str(2)}
	if s.reg.full() {
		return errFull
	}
	s.notifyReplacedLocked(from.caller, s.reg.registerService(name, from, at), "")
	s.log.Debug("service registered", zap.String("service", name), zap.String("node", c.caller),
		zap.String("uri", at))
	return success(1, "Registered [%s] as provider of [%s]", c.caller, name)
}

func (s *state) unregisterService(c call) reply {
	name, at := c.str(0), c.str(1)
	o := s.reg.unregisterService(name, c.caller, at)
	s.log.Debug("service unregistered", zap.String("service", name), zap.String("node", c.caller),
		zap.Bool("known", o == removed))
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

func (s *state) lookupService(c call) reply {
	p, ok := s.reg.services[c.str(0)]
	if !ok {
		return reply{codeError, "no provider", ""}
	}
	return success(p.serviceURI, "rosrpc URI: [%s]", p.serviceURI)
}

func (s *state) lookupNode(c call) reply {
	n, ok := s.reg.nodes[c.str(0)]
	if !ok {
		return reply{codeError, "unknown node [" + c.str(0) + "]", ""}
	}
	return success(n.uri, "node api")
}

func (s *state) getPublishedTopics(c call) reply {
	prefix := c.str(0)
	if prefix != "" && prefix[len(prefix)-1] != '/' {
		prefix += "/"
	}
	return success(s.reg.publishedTopics(prefix), "current topics")
}

func (s *state) getTopicTypes(call) reply {
	return success(s.reg.topicTypes(), "current system state")
}

func (s *state) getSystemState(call) reply {
	return success(s.reg.systemState(), "current system state")
}

// notifyReplacedLocked notifies a node that another node took its name, and the subscribers of its topics
// that the node is gone. Subscribers of the topic except are notified anyway.
func (s *state) notifyReplacedLocked(name string, b replacement, except string) {
	if b.uri == "" {
		return
	}
	s.log.Warn("node replaced by another with its name", zap.String("node", name), zap.String("old", b.uri))
	s.notify.Send(b.uri, &notify.Notice{
		Key: "shutdown " + name, Method: "shutdown", Once: true,
		Args: func() []any {
			return []any{
				"/master",
				"[" + name + "] Reason: new node registered with same name",
			}
		},
	})
	for _, topic := range b.topics {
		if topic != except {
			s.notifySubscribersLocked(topic)
		}
	}
}

// notifySubscribersLocked sends the list of publishers of a topic to its subscribers.
func (s *state) notifySubscribersLocked(topic string) {
	x := &notify.Notice{
		Key: "publishers of " + topic, Method: "publisherUpdate",
		Args: func() []any { return []any{"/master", topic, s.reg.uris(publisher, topic)} },
	}
	for _, uri := range s.reg.uris(subscriber, topic) {
		s.notify.Send(uri, x)
	}
}
