package master

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master/internal/outgoing"
)

// The codes of ROS API answers.
const (
	codeError   = -1 // the caller's fault
	codeFailure = 0  // attempted, but failed
	codeSuccess = 1
)

// reply is the triple that every call returns.
type reply struct {
	code  int
	text  string
	value any
}

func (r reply) triple() []any { return []any{r.code, r.text, r.value} }

func success(value any, format string, args ...any) reply {
	return reply{codeSuccess, fmt.Sprintf(format, args...), value}
}

// call is one call.
type call struct {
	name    string
	method  method
	peer    string // host:port of the caller
	caller  string // the node's name, as it claims
	args    []any  // without the caller; checked
	problem string // what is wrong with the arguments
}

func (c call) str(i int) string {
	s, _ := c.args[i].(string)
	return s
}

// check validates one argument. It returns the argument with names resolved, or the problem.
type check func(v any, caller string) (final any, problem string)

// effect says what a method does to the state of the master.
type effect byte

const (
	changes effect = iota
	// changes nothing when it is called again.
	repeats
	// changes nothing: for every caller, equal arguments get equal answers until the state changes.
	reads
)

type method struct {
	effect effect
	bad    any                          // the value of a reply to invalid arguments
	checks []check                      // of the arguments after the caller's name
	run    func(s *state, c call) reply // called with the lock of the state held
}

// methods returns the whole API, without system.multicall.
func methods() map[string]method {
	list := func(c ...check) []check { return c }
	topic, svc, node := name("topic", true), name("service", true), name("node", false)
	typ, api, key := typeName("topic_type"), uri("caller_api"), paramKey
	none := []any{}
	return map[string]method{
		"getUri":   {reads, "", nil, (*state).getURI},
		"getPid":   {reads, -1, nil, (*state).getPid},
		"shutdown": {changes, 0, list(anything), (*state).shutdown},

		"registerPublisher":    {changes, none, list(topic, typ, api), (*state).registerPublisher},
		"unregisterPublisher":  {changes, 0, list(topic, api), (*state).unregisterPublisher},
		"registerSubscriber":   {changes, none, list(topic, typ, api), (*state).registerSubscriber},
		"unregisterSubscriber": {changes, 0, list(topic, api), (*state).unregisterSubscriber},
		"registerService":      {changes, 0, list(svc, uri("service_api"), api), (*state).registerService},
		"unregisterService":    {changes, 0, list(svc, uri("service_api")), (*state).unregisterService},
		"lookupService":        {reads, "", list(svc), (*state).lookupService},
		"lookupNode":           {reads, "", list(node), (*state).lookupNode},
		"getPublishedTopics":   {reads, 0, list(subgraph), (*state).getPublishedTopics},
		"getTopicTypes":        {reads, none, nil, (*state).getTopicTypes},
		"getSystemState":       {reads, []any{none, none, none}, nil, (*state).getSystemState},

		"setParam":         {changes, 0, list(key, anything), (*state).setParam},
		"getParam":         {reads, 0, list(key), (*state).getParam},
		"deleteParam":      {changes, 0, list(key), (*state).deleteParam},
		"hasParam":         {reads, false, list(key), (*state).hasParam},
		"searchParam":      {repeats, 0, list(nonEmpty), (*state).searchParam},
		"subscribeParam":   {repeats, 0, list(api, key), (*state).subscribeParam},
		"unsubscribeParam": {changes, 0, list(api, key), (*state).unsubscribeParam},
		"getParamNames":    {reads, none, nil, (*state).getParamNames},
	}
}

// handle answers one call.
func (m *Master) handle(ctx context.Context, peer, name string, args []any) (any, error) {
	var answer *outgoing.Message
	var err error
	if name == "system.multicall" {
		answer, err = m.multicall(ctx, peer, args)
	} else {
		answer, err = m.single(ctx, peer, name, args)
	}
	if err != nil {
		return nil, err
	}
	return &xmlrpc.Answer{Body: answer.Body, Begin: answer.Begin}, nil
}

// single answers a call that is not part of a system.multicall.
func (m *Master) single(ctx context.Context, peer, name string, args []any) (*outgoing.Message, error) {
	c, err := m.prepare(peer, name, args)
	if err != nil {
		return nil, err
	}
	identity := func() string {
		if c.method.effect != reads {
			return ""
		}
		return fmt.Sprintf("%d %s %q", m.state.version.Load(), c.name, c.args)
	}
	var first *reply // reply of a call that must not be run again
	return m.answers.Get(ctx, identity, func(room int64) ([]byte, error) {
		m.state.mu.Lock()
		defer m.state.mu.Unlock()
		if first != nil {
			return xmlrpc.EncodeResponse(room, first.triple())
		}
		r := m.state.runLocked(c)
		if c.method.effect == changes {
			first = &r
		}
		return xmlrpc.EncodeResponse(room, r.triple())
	})
}

// prepare checks a call.
func (m *Master) prepare(peer, name string, args []any) (call, error) {
	f, ok := m.methods[name]
	if !ok {
		return call{}, &xmlrpc.Fault{Code: 1, Text: fmt.Sprintf("method %q is not supported", name)}
	}
	c := call{name: name, method: f, peer: peer}
	switch {
	case len(args) == 0:
		c.problem = "missing required caller_id parameter"
		return c, nil
	case len(args) != 1+len(f.checks):
		c.problem = "Error: bad call arity"
		return c, nil
	}
	if c.caller, ok = args[0].(string); !ok {
		c.problem = "caller_id must be a string"
		return c, nil
	}
	if len(c.caller) > maxNameBytes {
		c.problem = tooLong("caller_id")
		return c, nil
	}
	c.args = make([]any, len(f.checks))
	for i, arg := range args[1:] {
		if c.args[i], c.problem = f.checks[i](arg, c.caller); c.problem != "" {
			return c, nil
		}
	}
	return c, nil
}

// runLocked runs a call.
func (s *state) runLocked(c call) reply {
	if c.problem != "" {
		return reply{codeError, c.problem, c.method.bad}
	}
	if c.method.effect != reads {
		s.version.Add(1) // before the change: a reader that sees the new version also sees the change
	}
	return c.method.run(s, c)
}

// multicall executes several calls in one request, as Python's servers do: roslaunch sets
// parameters that way. A fault replaces the result of its call.
func (m *Master) multicall(ctx context.Context, peer string, args []any) (*outgoing.Message, error) {
	bad := &xmlrpc.Fault{Code: 1, Text: "system.multicall takes one list of {methodName, params}"}
	if len(args) != 1 {
		return nil, bad
	}
	calls, ok := args[0].([]any)
	if !ok {
		return nil, bad
	}
	unshared := func() string { return "" }
	return m.answers.Get(ctx, unshared, func(room int64) ([]byte, error) {
		if room < maxMulticallBytes { // run nothing before there is room for all results
			return nil, &xmlrpc.LimitError{What: "message", Limit: room}
		}
		results := make([]any, 0, len(calls))
		left := int64(maxMulticallBytes)
		for _, c := range calls {
			s, _ := c.(map[string]any)
			name, okName := s["methodName"].(string)
			params, okParams := s["params"].([]any)
			if !okName || !okParams {
				return nil, bad
			}
			result, err := m.result(peer, name, params, left)
			if errors.Is(err, xmlrpc.ErrLimit) {
				return nil, &xmlrpc.Fault{
					Code: 1,
					Text: fmt.Sprintf("the answers to system.multicall take more than %d bytes",
						maxMulticallBytes),
				}
			} else if err != nil {
				return nil, err
			}
			left -= int64(len(result))
			results = append(results, result)
		}
		return xmlrpc.EncodeResponse(math.MaxInt64, results)
	})
}

// result runs one call of a system.multicall and encodes its result.
func (m *Master) result(peer, name string, params []any, limit int64) (xmlrpc.Raw, error) {
	c, err := m.prepare(peer, name, params)
	if f := new(xmlrpc.Fault); errors.As(err, &f) {
		return xmlrpc.EncodeRaw(limit, map[string]any{"faultCode": f.Code, "faultString": f.Text})
	}
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	return xmlrpc.EncodeRaw(limit, []any{m.state.runLocked(c).triple()})
}

func tooLong(param string) string {
	return fmt.Sprintf("ERROR: parameter [%s] is longer than %d bytes", param, maxNameBytes)
}

func anything(v any, _ string) (any, string) { return v, "" }

// isPythonFalse reports whether a value is false in Python.
func isPythonFalse(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

// nonEmpty checks the key of searchParam, which is not resolved.
func nonEmpty(v any, _ string) (any, string) {
	if isPythonFalse(v) {
		return nil, "ERROR: parameter [key] must be specified and non-empty"
	}
	s, ok := v.(string)
	switch {
	case !ok:
		return nil, "ERROR: parameter [key] must be a string"
	case len(s) > maxNameBytes:
		return nil, tooLong("key")
	}
	return s, ""
}

// paramKey checks and resolves the key of a parameter.
func paramKey(v any, caller string) (any, string) {
	v, problem := nonEmpty(v, caller)
	if problem != "" {
		return nil, problem
	}
	s, _ := v.(string)
	return resolve(s, caller), ""
}

// uri checks the URI of a node or a service.
func uri(param string) check {
	return func(v any, _ string) (any, string) {
		s, _ := v.(string)
		switch {
		case s == "":
			return nil, fmt.Sprintf("ERROR: parameter [%s] is not an XMLRPC URI", param)
		case !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "rosrpc://"):
			return nil, fmt.Sprintf("ERROR: parameter [%s] is not an RPC URI", param)
		case len(s) > maxNameBytes:
			return nil, tooLong(param)
		}
		return s, ""
	}
}

// name checks the name of a topic, service or node. Only a node may be "/".
func name(param string, notRoot bool) check {
	return func(v any, caller string) (any, string) {
		s, _ := v.(string)
		switch {
		case s == "":
			return nil, fmt.Sprintf("ERROR: parameter [%s] must be a non-empty string", param)
		case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == ':' || r == 0x7f }):
			return nil, fmt.Sprintf("ERROR: parameter [%s] contains illegal chars", param)
		case notRoot && s == "/":
			return nil, fmt.Sprintf("ERROR: parameter [%s] cannot be the global namespace", param)
		case len(s) > maxNameBytes:
			return nil, tooLong(param)
		}
		return resolve(s, caller), ""
	}
}

// typeName checks a type, "package/Type" or "*".
func typeName(param string) check {
	return func(v any, _ string) (any, string) {
		s, _ := v.(string)
		switch {
		case s == "*":
			return s, ""
		case s == "":
			return nil, fmt.Sprintf("ERROR: parameter [%s] must be a non-empty string", param)
		case strings.Count(s, "/") != 1:
			return nil, fmt.Sprintf("ERROR: parameter [%s] is not a valid package resource name", param)
		case len(s) > maxNameBytes:
			return nil, tooLong(param)
		}
		return s, ""
	}
}

// subgraph checks a namespace, which is empty for all topics.
func subgraph(v any, caller string) (any, string) {
	s, ok := v.(string)
	switch {
	case !ok:
		return nil, "ERROR: parameter [subgraph] must be a string"
	case s == "":
		return s, ""
	case len(s) > maxNameBytes:
		return nil, tooLong("subgraph")
	}
	return resolve(s, caller), ""
}
