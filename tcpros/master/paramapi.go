package master

import (
	"errors"
	"strings"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/master/internal/notify"
)

func (s *state) setParam(c call) reply {
	key := c.str(0)
	value := c.args[1]
	if err := s.params.set(key, value); err != nil {
		text := err.Error()
		if !errors.Is(err, errNoValue) {
			text = "Error: invalid arguments: " + text
		}
		return reply{codeError, text, 0}
	}
	s.notifyParamSubscribersLocked(updatesFor(s.reg.refs[paramSubscriber], key, c.caller))
	s.log.Debug("parameter set", zap.String("key", key), zap.String("node", c.caller))
	return success(0, "parameter %s set", key)
}

func (s *state) deleteParam(c call) reply {
	key := c.str(0)
	if !s.params.delete(key) {
		return reply{codeError, "parameter [" + key + "] is not set", 0}
	}
	s.notifyParamSubscribersLocked(updatesFor(s.reg.refs[paramSubscriber], key, ""))
	s.log.Debug("parameter deleted", zap.String("key", key), zap.String("node", c.caller))
	return success(0, "parameter %s deleted", key)
}

// notifyParamSubscribersLocked queues updates.
func (s *state) notifyParamSubscribersLocked(updates []paramUpdate) {
	for _, u := range updates {
		x := &notify.Notice{
			Key: "parameter " + u.key, Method: "paramUpdate",
			Args: func() []any { return []any{"/master", u.key, s.params.valueOrEmpty(u.key)} },
		}
		for _, c := range u.to {
			s.notify.Send(c.uri, x)
		}
	}
}

func (s *state) getParam(c call) reply {
	key := c.str(0)
	v, ok := s.params.lookup(key)
	if !ok {
		return reply{codeError, "Parameter [" + key + "] is not set", 0}
	}
	return success(v, "Parameter [%s]", key)
}

func (s *state) hasParam(c call) reply {
	key := c.str(0)
	return success(s.params.has(key), "%s", key)
}

func (s *state) searchParam(c call) reply {
	key := c.str(0)
	switch {
	case key[0] == '~':
		return reply{codeFailure, "Internal failure: invalid key", 0}
	case !strings.HasPrefix(c.caller, "/"):
		return reply{codeFailure, "Internal failure: namespace must be global", 0}
	}
	found, ok := s.params.search(c.caller, key)
	if !ok {
		return reply{codeError, "Cannot find parameter [" + key + "] in an upwards search", ""}
	}
	return success(found, "Found [%s]", found)
}

func (s *state) subscribeParam(c call) reply {
	key := c.str(1)
	from := ref{c.caller, c.str(0)}
	if s.reg.full() {
		return errFull
	}
	v := s.params.valueOrEmpty(key)
	if s.reg.wasReplaced(from) {
		// When a node of roscpp is shut down, it logs that, and subscribes a parameter for its first
		// log line. rosmaster takes the call for a new node and shuts down the node that has just
		// taken the name, so that both nodes end.
		return success(v, "Subscribed to parameter [%s]", key)
	}
	s.notifyReplacedLocked(from.caller, s.reg.register(paramSubscriber, subscriptionKey(key), from), "")
	s.log.Debug("parameter subscribed", zap.String("key", key), zap.String("node", c.caller),
		zap.String("uri", from.uri))
	return success(v, "Subscribed to parameter [%s]", key)
}

func (s *state) unsubscribeParam(c call) reply {
	key := c.str(1)
	s.reg.unregister(paramSubscriber, subscriptionKey(key), ref{c.caller, c.str(0)})
	s.log.Debug("parameter unsubscribed", zap.String("key", key), zap.String("node", c.caller))
	return success(1, "Unsubscribe to parameter [%s]", key) // 1 even if the parameter was not subscribed
}

func (s *state) getParamNames(call) reply {
	return success(s.params.names(), "Parameter names")
}
