package master

import (
	"errors"
	"strings"

	"go.uber.org/zap"
)

func (m *Master) setParam(c call) reply {
	key := c.str(0)
	value := c.args[1]
	if err := m.params.set(key, value); err != nil {
		text := err.Error()
		if !errors.Is(err, errNoValue) {
			text = "Error: invalid arguments: " + text
		}
		return reply{codeError, text, 0}
	}
	m.notifyParamSubscribers(updatesFor(m.reg.refs[paramSubscriber], key, c.caller))
	m.log.Debug("parameter set", zap.String("key", key), zap.String("node", c.caller))
	return success(0, "parameter %s set", key)
}

func (m *Master) deleteParam(c call) reply {
	key := c.str(0)
	if !m.params.delete(key) {
		return reply{codeError, "parameter [" + key + "] is not set", 0}
	}
	m.notifyParamSubscribers(updatesFor(m.reg.refs[paramSubscriber], key, ""))
	m.log.Debug("parameter deleted", zap.String("key", key), zap.String("node", c.caller))
	return success(0, "parameter %s deleted", key)
}

// notifyParamSubscribers queues updates. The lock is held.
func (m *Master) notifyParamSubscribers(updates []paramUpdate) {
	for _, u := range updates {
		x := &notice{
			key: "parameter " + u.key, method: "paramUpdate",
			args: func() []any { return []any{"/master", u.key, m.params.valueOrEmpty(u.key)} },
		}
		for _, c := range u.to {
			m.notify.send(c.uri, x)
		}
	}
}

func (m *Master) getParam(c call) reply {
	key := c.str(0)
	v, ok := m.params.lookup(key)
	if !ok {
		return reply{codeError, "Parameter [" + key + "] is not set", 0}
	}
	return success(v, "Parameter [%s]", key)
}

func (m *Master) hasParam(c call) reply {
	key := c.str(0)
	return success(m.params.has(key), "%s", key)
}

func (m *Master) searchParam(c call) reply {
	key := c.str(0)
	switch {
	case key[0] == '~':
		return reply{codeFailure, "Internal failure: invalid key", 0}
	case !strings.HasPrefix(c.caller, "/"):
		return reply{codeFailure, "Internal failure: namespace must be global", 0}
	}
	found, ok := m.params.search(c.caller, key)
	if !ok {
		return reply{codeError, "Cannot find parameter [" + key + "] in an upwards search", ""}
	}
	return success(found, "Found [%s]", found)
}

func (m *Master) subscribeParam(c call) reply {
	key := c.str(1)
	from := ref{c.caller, c.str(0)}
	if m.reg.full() {
		return errFull
	}
	v := m.params.valueOrEmpty(key)
	if m.reg.wasReplaced(from) {
		// roscpp logs that it is being shut down, and for its first log line subscribes
		// a parameter. rosmaster takes that for a new node and shuts down the one that
		// has just taken the name, so that both are gone.
		return success(v, "Subscribed to parameter [%s]", key)
	}
	m.notifyReplaced(from.caller, m.reg.register(paramSubscriber, subscriptionKey(key), from), "")
	m.log.Debug("parameter subscribed", zap.String("key", key), zap.String("node", c.caller), zap.String("uri", from.uri))
	return success(v, "Subscribed to parameter [%s]", key)
}

func (m *Master) unsubscribeParam(c call) reply {
	key := c.str(1)
	m.reg.unregister(paramSubscriber, subscriptionKey(key), ref{c.caller, c.str(0)})
	m.log.Debug("parameter unsubscribed", zap.String("key", key), zap.String("node", c.caller))
	return success(1, "Unsubscribe to parameter [%s]", key) // 1 even if it was not subscribed
}

func (m *Master) getParamNames(call) reply {
	return success(m.params.names(), "Parameter names")
}
