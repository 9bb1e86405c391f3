package master

import (
	"maps"
	"slices"
	"strings"
)

// kind is the kind of a registration.
type kind byte

const (
	publisher kind = iota
	subscriber
	service
	paramSubscriber
)

// ref is one registration: a node's name and its slave URI.
type ref struct {
	caller string
	uri    string
}

type node struct {
	uri      string
	replaced string // URI of the node whose name this node took; may be empty
	regs     map[regKey]struct{}
}

type regKey struct {
	kind kind
	name string
}

// provider is the provider of a service.
type provider struct {
	ref
	serviceURI string
}

// registry has the graph: publishers, subscribers and services. It is not safe for concurrent use;
// state guards it with its lock.
type registry struct {
	nodes map[string]*node
	// by kind and name; in the order of registration; nil for service
	refs     [paramSubscriber + 1]map[string][]ref
	services map[string]provider
	// types of topics; kept when a topic loses its last node, as in rosmaster
	types   map[string]string
	sweepAt int
	// registrations of all nodes
	count int
}

func newRegistry() *registry {
	r := &registry{
		nodes:    map[string]*node{},
		services: map[string]provider{},
		types:    map[string]string{},
		sweepAt:  sweepTypesAt,
	}
	for _, k := range []kind{publisher, subscriber, paramSubscriber} {
		r.refs[k] = map[string][]ref{}
	}
	return r
}

// full reports whether one more registration would exceed the limit.
func (r *registry) full() bool { return r.count >= maxRegistrations }

// replacement describes a node that was replaced by a registration with its name and another URI.
type replacement struct {
	uri    string   // URI of the replaced node; empty if none was replaced
	topics []string // topics whose list of publishers changed
}

// node returns the node called caller. A node of that name with another URI is replaced, and loses
// its registrations.
func (r *registry) node(c ref) (*node, replacement) {
	n, known := r.nodes[c.caller]
	if known && n.uri == c.uri {
		return n, replacement{}
	}
	var b replacement
	if known {
		b = replacement{n.uri, r.removeNode(c.caller, n)}
	}
	n = &node{c.uri, b.uri, map[regKey]struct{}{}}
	r.nodes[c.caller] = n
	return n, b
}

// wasReplaced reports whether the present node with the name of c has replaced c.
func (r *registry) wasReplaced(c ref) bool {
	n, ok := r.nodes[c.caller]
	return ok && n.replaced == c.uri
}

// removeNode removes a node with all its registrations and returns the topics it published.
func (r *registry) removeNode(caller string, n *node) (published []string) {
	for k := range n.regs {
		if k.kind == service {
			delete(r.services, k.name)
		} else {
			r.removeRef(k, ref{caller, n.uri})
		}
		if k.kind == publisher {
			published = append(published, k.name)
		}
	}
	r.count -= len(n.regs)
	delete(r.nodes, caller)
	slices.Sort(published)
	return published
}

// removeRef removes c from the list of k, and reports whether the list had c.
func (r *registry) removeRef(k regKey, c ref) bool {
	list := r.refs[k.kind][k.name]
	i := slices.Index(list, c)
	if i < 0 {
		return false
	}
	if len(list) == 1 {
		delete(r.refs[k.kind], k.name)
	} else {
		r.refs[k.kind][k.name] = slices.Delete(list, i, i+1)
	}
	return true
}

// setRegistered adds or removes one registration of a node.
func (r *registry) setRegistered(n *node, k regKey, add bool) {
	_, has := n.regs[k]
	switch {
	case add && !has:
		n.regs[k] = struct{}{}
		r.count++
	case !add && has:
		delete(n.regs, k)
		r.count--
	}
}

// register makes c a publisher, subscriber or parameter subscriber of name.
func (r *registry) register(k kind, name string, c ref) replacement {
	n, b := r.node(c)
	key := regKey{k, name}
	r.setRegistered(n, key, true)
	if list := r.refs[k][name]; !slices.Contains(list, c) {
		r.refs[k][name] = append(list, c)
	}
	return b
}

// registerService makes c the provider of name, in place of any other.
func (r *registry) registerService(name string, c ref, serviceURI string) replacement {
	n, b := r.node(c)
	if old, ok := r.services[name]; ok && old.caller != c.caller {
		r.removeRegistration(old.caller, regKey{service, name})
	}
	r.setRegistered(n, regKey{service, name}, true)
	r.services[name] = provider{c, serviceURI}
	return b
}

// removeRegistration removes one registration of a node, and the node if it has no other
// registration.
func (r *registry) removeRegistration(caller string, k regKey) {
	n, ok := r.nodes[caller]
	if !ok {
		return
	}
	r.setRegistered(n, k, false)
	if len(n.regs) == 0 {
		delete(r.nodes, caller)
	}
}

// outcome is how an unregistration ended.
type outcome byte

const (
	removed     outcome = iota
	notProvider         // not registered for that name, or under another URI
	unknownNode
)

func (r *registry) unregister(k kind, name string, c ref) outcome {
	if _, ok := r.nodes[c.caller]; !ok {
		return unknownNode
	}
	key := regKey{k, name}
	if !r.removeRef(key, c) {
		return notProvider
	}
	r.removeRegistration(c.caller, key)
	return removed
}

func (r *registry) unregisterService(name, caller, serviceURI string) outcome {
	if _, ok := r.nodes[caller]; !ok {
		return unknownNode
	}
	if p := r.services[name]; p.caller != caller || p.serviceURI != serviceURI {
		return notProvider
	}
	delete(r.services, name)
	r.removeRegistration(caller, regKey{service, name})
	return removed
}

// uris returns the slave URIs registered for name, never nil.
func (r *registry) uris(k kind, name string) []string {
	list := r.refs[k][name]
	uris := make([]string, len(list))
	for i := range list {
		uris[i] = list[i].uri
	}
	return uris
}

// publisherType records the type that a publisher declared: '*' never replaces a known type.
func (r *registry) publisherType(topic, typ string) {
	if _, known := r.types[topic]; typ != "*" || !known {
		r.setType(topic, typ)
	}
}

// subscriberType records the type that a subscriber declared, if none is known.
func (r *registry) subscriberType(topic, typ string) {
	if _, known := r.types[topic]; typ != "*" && !known {
		r.setType(topic, typ)
	}
}

func (r *registry) setType(topic, typ string) {
	if len(r.types) >= r.sweepAt {
		maps.DeleteFunc(r.types, func(t, _ string) bool {
			return len(r.refs[publisher][t]) == 0 && len(r.refs[subscriber][t]) == 0
		})
		r.sweepAt = 2*len(r.types) + sweepTypesAt
	}
	r.types[topic] = typ
}

// publishedTopics returns [topic, type] of each topic with a publisher whose name
// starts with prefix.
func (r *registry) publishedTopics(prefix string) []any {
	list := []any{}
	for _, t := range slices.Sorted(maps.Keys(r.refs[publisher])) {
		if strings.HasPrefix(t, prefix) {
			list = append(list, []any{t, r.types[t]})
		}
	}
	return list
}

func (r *registry) topicTypes() []any {
	list := []any{}
	for _, t := range slices.Sorted(maps.Keys(r.types)) {
		list = append(list, []any{t, r.types[t]})
	}
	return list
}

// systemState returns [publishers, subscribers, services], each a list of [name, [node...]].
func (r *registry) systemState() []any {
	services := []any{}
	for _, name := range slices.Sorted(maps.Keys(r.services)) {
		services = append(services, []any{name, []any{r.services[name].caller}})
	}
	return []any{callers(r.refs[publisher]), callers(r.refs[subscriber]), services}
}

func callers(refs map[string][]ref) []any {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		nodes := []any{}
		for _, c := range refs[name] {
			nodes = append(nodes, c.caller)
		}
		list = append(list, []any{name, nodes})
	}
	return list
}
