package master

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
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

func success(value any, format string, args ...any) reply {
	return reply{codeSuccess, fmt.Sprintf(format, args...), value}
}

// call is one call with checked arguments.
type call struct {
	peer   string // host:port it came from
	caller string // the node's name, as it claims
	args   []any  // without the caller
}

func (c call) str(i int) string {
	s, _ := c.args[i].(string)
	return s
}

// check validates one argument. It returns the argument with names resolved, or the problem.
type check func(v any, caller string) (final any, problem string)

type method struct {
	bad    any     // the value of a reply to invalid arguments
	checks []check // of the arguments after the caller's name
	run    func(m *Master, c call) reply
}

// methods returns the whole API, without system.multicall.
func methods() map[string]method {
	list := func(c ...check) []check { return c }
	topic, svc, node := name("topic", true), name("service", true), name("node", false)
	typ, api, key := typeName("topic_type"), uri("caller_api"), nonEmpty("key")
	none := []any{}
	return map[string]method{
		"getUri":   {"", nil, (*Master).getURI},
		"getPid":   {-1, nil, (*Master).getPid},
		"shutdown": {0, list(anything), (*Master).shutdown},

		"registerPublisher":    {none, list(topic, typ, api), (*Master).registerPublisher},
		"unregisterPublisher":  {0, list(topic, api), (*Master).unregisterPublisher},
		"registerSubscriber":   {none, list(topic, typ, api), (*Master).registerSubscriber},
		"unregisterSubscriber": {0, list(topic, api), (*Master).unregisterSubscriber},
		"registerService":      {0, list(svc, uri("service_api"), api), (*Master).registerService},
		"unregisterService":    {0, list(svc, uri("service_api")), (*Master).unregisterService},
		"lookupService":        {"", list(svc), (*Master).lookupService},
		"lookupNode":           {"", list(node), (*Master).lookupNode},
		"getPublishedTopics":   {0, list(subgraph), (*Master).getPublishedTopics},
		"getTopicTypes":        {none, nil, (*Master).getTopicTypes},
		"getSystemState":       {[]any{none, none, none}, nil, (*Master).getSystemState},

		"setParam":         {0, list(key, anything), (*Master).setParam},
		"getParam":         {0, list(key), (*Master).getParam},
		"deleteParam":      {0, list(key), (*Master).deleteParam},
		"hasParam":         {false, list(key), (*Master).hasParam},
		"searchParam":      {0, list(key), (*Master).searchParam},
		"subscribeParam":   {0, list(api, key), (*Master).subscribeParam},
		"unsubscribeParam": {0, list(api, key), (*Master).unsubscribeParam},
		"getParamNames":    {none, nil, (*Master).getParamNames},
	}
}

// handle answers one call.
func (m *Master) handle(_ context.Context, peer, name string, args []any) (any, error) {
	if name == "system.multicall" {
		return m.multicall(peer, args)
	}
	r, err := m.dispatch(peer, name, args)
	if err != nil {
		return nil, err
	}
	return []any{r.code, r.text, r.value}, nil
}

func (m *Master) dispatch(peer, name string, args []any) (reply, error) {
	f, ok := m.methods[name]
	if !ok {
		return reply{}, &xmlrpc.Fault{Code: 1, Text: fmt.Sprintf("method %q is not supported", name)}
	}
	switch {
	case len(args) == 0:
		return reply{codeError, "missing required caller_id parameter", f.bad}, nil
	case len(args) != 1+len(f.checks):
		return reply{codeError, "Error: bad call arity", f.bad}, nil
	}
	caller, ok := args[0].(string)
	if !ok {
		return reply{codeError, "caller_id must be a string", f.bad}, nil
	}
	if len(caller) > maxNameBytes {
		return reply{codeError, tooLong("caller_id"), f.bad}, nil
	}
	checked := make([]any, len(f.checks))
	for i, check := range f.checks {
		v, problem := check(args[1+i], caller)
		if problem != "" {
			return reply{codeError, problem, f.bad}, nil
		}
		checked[i] = v
	}
	return f.run(m, call{peer, caller, checked}), nil
}

// multicall executes several calls in one request, as Python's servers do: roslaunch sets
// parameters that way. A fault replaces the result of its call.
func (m *Master) multicall(peer string, args []any) (any, error) {
	bad := &xmlrpc.Fault{Code: 1, Text: "system.multicall takes one list of {methodName, params}"}
	if len(args) != 1 {
		return nil, bad
	}
	calls, ok := args[0].([]any)
	if !ok {
		return nil, bad
	}
	results := make([]any, 0, len(calls))
	var size int64
	for _, c := range calls {
		s, _ := c.(map[string]any)
		name, okName := s["methodName"].(string)
		params, okParams := s["params"].([]any)
		if !okName || !okParams {
			return nil, bad
		}
		if size > maxMulticallSize {
			return nil, &xmlrpc.Fault{Code: 1, Text: "the answers to system.multicall are too large"}
		}
		r, err := m.dispatch(peer, name, params)
		f := new(xmlrpc.Fault)
		if errors.As(err, &f) {
			results = append(results, map[string]any{"faultCode": f.Code, "faultString": f.Text})
			continue
		}
		n, _ := measure(r.value, xmlrpc.MaxWriteDepth)
		size += n
		results = append(results, []any{[]any{r.code, r.text, r.value}})
	}
	return results, nil
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

// nonEmpty checks the key of a parameter. It is resolved later, because some replies contain it
// as it was sent.
func nonEmpty(param string) check {
	return func(v any, _ string) (any, string) {
		if isPythonFalse(v) {
			return nil, fmt.Sprintf("ERROR: parameter [%s] must be specified and non-empty", param)
		}
		s, ok := v.(string)
		switch {
		case !ok:
			return nil, fmt.Sprintf("ERROR: parameter [%s] must be a string", param)
		case len(s) > maxNameBytes:
			return nil, tooLong(param)
		}
		return s, ""
	}
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
