// Package rosapi makes the calls of ROS's XML-RPC APIs: of the master, of its parameter server, and
// of other nodes. Each call has a context, a timeout and a bound on its reply, which is checked
// before anything reads it. The package also defines the keys of registrations. HangWatch and
// Master are for concurrent use. Package tcpros and the packages below it call it; nothing else does.
//
// Decisions: ADR 0001.
package rosapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aler9/goroslib/pkg/apimaster"
	"github.com/aler9/goroslib/pkg/apiparam"
	"github.com/aler9/goroslib/pkg/apislave"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

const (
	callTimeout  = 5 * time.Second
	maxHostBytes = 255 // bytes of a host name, the limit of DNS

	// bytes of a name or URI in a list; an escaped byte takes four bytes or more.
	longestText = 8 * names.MaxBytes
	// bytes of a text among the parameters.
	longestParam = 12 << 20
	// bytes of a list of topics that is compared with the next list.
	sameListMost = 8 << 20
)

// UnregisterCalls is how many unregister calls of a closing node run at the same time.
const UnregisterCalls = 8

// Bounds on replies. The node calls every node that registers with the master, many at the
// same time, so only replies of the master itself may be large.
var (
	// the state of a large graph.
	masterReply = xmlrpc.Limits{BodyBytes: 16 << 20, Depth: 64, TextBytes: longestText}
	paramReply  = xmlrpc.Limits{BodyBytes: 16 << 20, Depth: 64, TextBytes: longestParam}
	SlaveReply  = xmlrpc.Limits{BodyBytes: 1 << 20, TextBytes: longestText}
	// [1, text, ["TCPROS", host, port]].
	addressReply = xmlrpc.Limits{BodyBytes: 64 << 10, Depth: 4, Values: 256}
)

// Master is a client of the ROS master, of its parameter server and of other
// nodes' slave APIs. Every error is a *CallError; one that wraps a *StatusError
// means that the other side answered and refused.
type Master struct {
	uri      string
	api      string // the URL that all calls use; like roscpp, they ignore a path in uri
	hostport string
	callerID string
	dialer   *endpoint.Dialer
	http     connections
	hangs    *HangWatch
	contact  contactCounts
	unread   unreadReplies
	topicsMu sync.Mutex // guards listed
	listed   topicList
}

// contactCounts counts connections to the master and its replies. The counts show whether the
// master is still the same process, since a process that ends closes its connections. contactCounts
// is for concurrent use.
type contactCounts struct {
	dials   atomic.Uint64 // attempts to connect to the master
	answers atomic.Uint64 // valid replies of the master
}

// Contact is a reading of contactCounts.
type Contact struct{ Dials, Answers uint64 }

func (c *contactCounts) read() Contact { return Contact{c.dials.Load(), c.answers.Load()} }

// LastContact returns how often the master was dialed and has answered so far.
func (m *Master) LastContact() Contact { return m.contact.read() }

// NewMaster returns a client of the master at uri, whose host:port is hostport, for the node
// callerID.
func NewMaster(uri, hostport, callerID string, d *endpoint.Dialer, hangs *HangWatch) *Master {
	m := &Master{
		uri: uri, api: "http://" + hostport + "/", hostport: hostport, callerID: callerID, dialer: d,
		hangs: hangs,
	}
	m.http = connections{
		hostport: hostport,
		master: newTransport(func(ctx context.Context, network, address string) (net.Conn, error) {
			m.contact.dials.Add(1)
			return d.DialContext(ctx, network, address)
		}),
		nodes: xmlrpc.NewTransport(func() *http.Transport { return newTransport(d.DialContext) }),
	}
	return m
}

// HostPort returns the master's host:port.
func (m *Master) HostPort() string { return m.hostport }

// CallerID returns the name of the node that calls.
func (m *Master) CallerID() string { return m.callerID }

// Close closes idle connections.
func (m *Master) Close() { m.http.closeIdle() }

// URI returns the master's URI.
func (m *Master) URI() string { return m.uri }

// LookupNode returns the slave URI of a node. The name must be resolved.
func (m *Master) LookupNode(ctx context.Context, name string) (uri string, err error) {
	if err := names.CheckName(name); err != nil {
		return "", err // goroslib does not escape what it sends
	}
	err = m.call(ctx, m.hostport, masterReply, "lookupNode", func(hc *http.Client) (err error) {
		uri, err = apimaster.NewClient(m.hostport, m.callerID, hc).LookupNode(name)
		return err
	})
	return uri, err
}

// LookupService returns the rosrpc URI of a service. The name must be resolved. An
// error that matches ErrStatus says that there is no such service.
func (m *Master) LookupService(ctx context.Context, name string) (uri string, err error) {
	if err := names.CheckName(name); err != nil {
		return "", err
	}
	err = m.call(ctx, m.hostport, masterReply, "lookupService", func(hc *http.Client) (err error) {
		uri, err = apimaster.NewClient(m.hostport, m.callerID, hc).LookupService(name)
		return err
	})
	return uri, err
}

// Param returns a parameter; ok is false when it is not set. The value is int,
// bool, string, float64, time.Time, []byte, []any or map[string]any.
func (m *Master) Param(ctx context.Context, key string) (value any, ok bool, err error) {
	// goroslib reads a parameter only as a type known beforehand.
	value, err = m.Raw(ctx, m.api, paramReply, "getParam", key)
	if errors.Is(err, ErrStatus) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// SetParam sets a parameter.
func (m *Master) SetParam(ctx context.Context, key string, value any) error {
	if err := names.CheckName(key); err != nil {
		return err
	}
	switch v := value.(type) {
	case bool:
		return m.call(ctx, m.hostport, masterReply, "setParam", func(hc *http.Client) error {
			return apiparam.NewClient(m.hostport, m.callerID, hc).SetParamBool(key, v)
		})
	case int:
		return m.call(ctx, m.hostport, masterReply, "setParam", func(hc *http.Client) error {
			return apiparam.NewClient(m.hostport, m.callerID, hc).SetParamInt(key, v)
		})
	}
	// goroslib does not escape strings, and has no lists and maps.
	_, err := m.Raw(ctx, m.api, masterReply, "setParam", key, value)
	return err
}

// PID returns the master's process ID. goroslib has the call in its slave client.
func (m *Master) PID(ctx context.Context) (pid int, err error) {
	err = m.call(ctx, m.hostport, masterReply, "getPid", func(hc *http.Client) (err error) {
		pid, err = apislave.NewClient(m.hostport, m.callerID, hc).GetPid()
		return err
	})
	return pid, err
}

// RegisterSubscriber registers a subscription of the node whose slave API is at uri, and returns
// the URIs of the publishers.
func (m *Master) RegisterSubscriber(ctx context.Context, topic, typ, uri string) ([]string, error) {
	// goroslib cannot leave out texts that are too long
	v, err := m.exchange(ctx, m.api, masterReply, &reply{topic: topic}, "registerSubscriber", topic, typ, uri)
	if err != nil {
		return nil, err
	}
	uris, ok := textList(v)
	if !ok {
		return nil, &CallError{"registerSubscriber", m.hostport, errors.New("answered no list of URIs"), true}
	}
	return uris, nil
}

// RegisterPublisher registers a publication of the node whose slave API is at uri.
func (m *Master) RegisterPublisher(ctx context.Context, topic, typ, uri string) error {
	// any subscriber may have a URI that is too long
	_, err := m.Raw(ctx, m.api, masterReply, "registerPublisher", topic, typ, uri)
	return err
}

// RegisterService registers a service at rosrpc of the node whose slave API is at uri.
func (m *Master) RegisterService(ctx context.Context, name, rosrpc, uri string) error {
	return m.call(ctx, m.hostport, masterReply, "registerService", func(hc *http.Client) error {
		return apimaster.NewClient(m.hostport, m.callerID, hc).RegisterService(name, rosrpc, uri)
	})
}

// Unregister removes the registration of k under uri: the URI of the slave API, or that of
// the service.
func (m *Master) Unregister(ctx context.Context, k Key, uri string) error {
	method := [...]string{"unregisterSubscriber", "unregisterPublisher", "unregisterService"}[k.Kind]
	err := m.call(ctx, m.hostport, masterReply, method, func(hc *http.Client) error {
		c := apimaster.NewClient(m.hostport, m.callerID, hc)
		switch k.Kind {
		case Subscriber:
			return c.UnregisterSubscriber(k.Name, uri)
		case Publisher:
			return c.UnregisterPublisher(k.Name, uri)
		case Service:
			return c.UnregisterService(k.Name, uri)
		}
		panic("tcpros: kind of registration")
	})
	if k.Kind == Subscriber {
		m.unread.forget(k.Name)
	}
	if c := (*CallError)(nil); errors.As(err, &c) && c.Answered {
		return nil // the registration did not exist, which is fine
	}
	return err
}

// Registrations returns the nodes behind each registration.
func (m *Master) Registrations(ctx context.Context) (map[Key][]string, error) {
	state, err := m.SystemState(ctx)
	nodes := map[Key][]string{}
	for kind, of := range map[Kind]map[string][]string{
		Publisher: state.Publishers, Subscriber: state.Subscribers, Service: state.Services,
	} {
		for name, list := range of {
			nodes[Key{kind, name}] = list
		}
	}
	return nodes, err
}

// Probe connects to the slave API at hostport and asks nothing.
func (m *Master) Probe(ctx context.Context, hostport string) error {
	conn, err := m.dialer.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return &CallError{Method: "requestTopic", Host: hostport, Err: err}
	}
	return conn.Close()
}

// Accepts tries whether the node whose slave API is at uri accepts connections. known is false if a
// connection failed otherwise than by a refusal: only a refusal is sent by the node's machine, and
// other machines may reach a node whose host name this machine cannot resolve.
func (m *Master) Accepts(ctx context.Context, uri string) (accepts, known bool) {
	hostport, err := endpoint.SplitURI(uri)
	if err == nil {
		err = m.Probe(ctx, hostport)
	}
	return err == nil, err == nil || errors.Is(err, syscall.ECONNREFUSED)
}

// RequestTopic asks the node at hostport for its TCPROS address of a topic.
func (m *Master) RequestTopic(ctx context.Context, hostport, topic string) (address string, err error) {
	var proto []any
	err = m.call(ctx, hostport, addressReply, "requestTopic", func(hc *http.Client) (err error) {
		proto, err = apislave.NewClient(hostport, m.callerID, hc).RequestTopic(topic, [][]any{{"TCPROS"}})
		return err
	})
	if err != nil {
		return "", err
	}
	if address, err = TCPROSAddress(proto); err != nil {
		return "", &CallError{"requestTopic", hostport, err, true}
	}
	return address, nil
}

// TCPROSAddress reads ["TCPROS", host, port].
func TCPROSAddress(proto []any) (string, error) {
	name, _ := Arg[string](proto, 0)
	host, _ := Arg[string](proto, 1)
	port, _ := Arg[int](proto, 2)
	if name != "TCPROS" || host == "" || len(host) > maxHostBytes || port <= 0 || port >= 1<<16 {
		return "", fmt.Errorf("answered %.100q, not a TCPROS address", fmt.Sprint(proto))
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// call runs one call of a goroslib client with an HTTP client of our own.
func (m *Master) call(ctx context.Context, hostport string, l xmlrpc.Limits, method string,
	do func(*http.Client) error,
) error {
	return m.run(ctx, hostport, l, method, new(reply), do)
}

// Raw makes a call that goroslib does not support, or makes slowly.
func (m *Master) Raw(
	ctx context.Context, uri string, l xmlrpc.Limits, method string, args ...any,
) (any, error) {
	return m.exchange(ctx, uri, l, new(reply), method, args...)
}

// exchange is Raw with a reply of the caller, which may have an earlier list to compare the new
// list with.
func (m *Master) exchange(ctx context.Context, uri string, l xmlrpc.Limits, got *reply, method string,
	args ...any,
) (any, error) {
	hostport, err := endpoint.SplitURI(uri)
	if err != nil {
		return nil, &CallError{Method: method, Host: uri, Err: err}
	}
	got.keep = true
	err = m.run(ctx, hostport, l, method, got, func(hc *http.Client) error {
		_, err := xmlrpc.Call(ctx, hc, uri, method, append([]any{m.callerID}, args...)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got.value, nil
}

// run runs one call with an HTTP client, and records the outcome.
func (m *Master) run(ctx context.Context, hostport string, l xmlrpc.Limits, method string, got *reply,
	do func(*http.Client) error,
) error {
	end := func(error) {}
	if hostport == m.hostport {
		end = m.hangs.watch(ctx, hostport, method)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := do(m.client(ctx, l, got))
	end(err)
	switch {
	case hostport == m.hostport:
		m.unread.note(m.hangs.log, hostport, method, got.topic, got.skipped, err)
	case got.skipped > 0:
		m.hangs.log.Warn("a reply of a node cannot be read in full: the rest of it counts",
			zap.String("node", hostport), zap.String("method", method), zap.Int("too long", got.skipped))
	}
	if err != nil {
		return &CallError{method, hostport, unwrapURLError(err), got.answered}
	}
	return nil
}

// roundTrip adapts a function to http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// client returns an HTTP client for goroslib, which takes no context, decodes without limits
// and drops the status of a refusal: calls of the client end with ctx, and it passes on
// replies only within l and of the shape [1, text, value].
func (m *Master) client(ctx context.Context, l xmlrpc.Limits, got *reply) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			r = r.WithContext(ctx)
			// An empty value is not sent, but lets net/http repeat the call when the server
			// has closed the idle connection. All ROS calls are idempotent.
			r.Header["Idempotency-Key"] = []string{}
			resp, err := m.http.RoundTrip(r)
			if err != nil || resp.StatusCode != http.StatusOK {
				return resp, err
			}
			body, skipped, err := xmlrpc.ReadBody(got.body, resp.Body, l)
			_ = resp.Body.Close() // fully read, or abandoned
			got.body, got.skipped = body, skipped
			if err != nil {
				return nil, err
			}
			v, err := got.parse(l)
			got.answered = err == nil || errors.Is(err, ErrStatus)
			if got.answered && r.URL.Host == m.hostport {
				m.contact.answers.Add(1)
			}
			if err != nil {
				return nil, err
			}
			if got.keep {
				got.value, v[2] = v[2], 0
			} else if got.skipped > 0 && hasSkipped(v[2]) {
				return nil, &xmlrpc.LimitError{What: "text", Limit: l.TextBytes}
			}
			if s, ok := v[1].(xmlrpc.Skipped); ok {
				v[1] = s.String()
			}
			if body, err = xmlrpc.AppendResponse(nil, v); err != nil {
				return nil, err
			}
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			return resp, nil
		}),
	}
}
