package master

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// paramTree has the parameters. Inner nodes are map[string]any; anything else is a value. It is not
// safe for concurrent use; state guards it with its lock, also while a value is encoded, because
// the maps are changed in place.
type paramTree struct {
	root map[string]any
	size int64
}

var (
	errRootValue = errors.New("cannot set root of parameter tree to non-dictionary")
	errNoValue   = errors.New("ERROR: parameter [value] must be specified")
)

func newParamTree() *paramTree { return &paramTree{root: map[string]any{}} }

// lookup returns the value at key without copying it.
func (t *paramTree) lookup(key string) (any, bool) {
	var v any = t.root
	for _, e := range elements(key) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[e]; !ok {
			return nil, false
		}
	}
	return v, true
}

// valueOrEmpty returns the value at key without copying it. For a parameter that is not set, the
// value is an empty map, as in ROS.
func (t *paramTree) valueOrEmpty(key string) any {
	if v, ok := t.lookup(key); ok {
		return v
	}
	return map[string]any{}
}

func (t *paramTree) has(key string) bool {
	_, ok := t.lookup(key)
	return ok
}

// set stores v, which the tree then owns. Plain values on the way become namespaces.
func (t *paramTree) set(key string, v any) error {
	path := elements(key)
	if len(path) > maxParamDepth {
		return errTooDeep
	}
	size, err := measure(v, maxParamDepth-len(path))
	if err != nil {
		return err
	}
	var before int64
	if old, ok := t.lookup(key); ok {
		before, _ = measure(old, maxParamDepth)
	}
	if t.size-before+size > maxParamBytes {
		return fmt.Errorf("parameters would take more than %d bytes", maxParamBytes)
	}
	if len(path) == 0 {
		root, ok := v.(map[string]any)
		if !ok {
			return errRootValue
		}
		t.root, t.size = root, size
		return nil
	}
	t.size += size - before
	m := t.root
	for _, e := range path[:len(path)-1] {
		next, ok := m[e].(map[string]any)
		if !ok {
			if old, there := m[e]; there { // a namespace replaces a plain value
				n, _ := measure(old, maxParamDepth)
				t.size -= n
			} else {
				t.size += memberCost(e)
			}
			next = map[string]any{}
			m[e] = next
			t.size += containerCost
		}
		m = next
	}
	last := path[len(path)-1]
	if _, there := m[last]; !there {
		t.size += memberCost(last)
	}
	m[last] = v
	return nil
}

func (t *paramTree) delete(key string) bool {
	path := elements(key)
	if len(path) == 0 {
		return false // the root stays
	}
	parent, _ := t.lookup(strings.Join(path[:len(path)-1], "/"))
	m, _ := parent.(map[string]any)
	last := path[len(path)-1]
	v, ok := m[last]
	if ok {
		n, _ := measure(v, maxParamDepth)
		t.size -= n + memberCost(last)
		delete(m, last)
	}
	return ok
}

// names returns the full name of every value, sorted.
func (t *paramTree) names() []string {
	names := appendNames([]string{}, "/", t.root)
	slices.Sort(names)
	return names
}

func appendNames(dst []string, ns string, m map[string]any) []string {
	for name, v := range m {
		full := join(ns, name)
		if sub, ok := v.(map[string]any); ok {
			dst = appendNames(dst, full, sub)
		} else {
			dst = append(dst, full)
		}
	}
	return dst
}

// search looks for the first element of key in the namespace ns and then in each namespace above
// ns. It returns the full name of key in the first namespace that has the element.
func (t *paramTree) search(ns, key string) (string, bool) {
	if strings.HasPrefix(key, "/") {
		return key, t.has(key)
	}
	first := elements(key)[0]
	for path := elements(ns); ; path = path[:len(path)-1] {
		above := "/" + strings.Join(path, "/")
		if t.has(join(above, first)) {
			return join(above, key), true
		}
		if len(path) == 0 {
			return "", false
		}
	}
}

// Rough memory of values, and of messages with them, for the limit on the whole tree.
const (
	scalarCost    = 32
	containerCost = 64
)

func memberCost(name string) int64 { return xmlrpc.TextSize(name) + 2*scalarCost }

var errTooDeep = fmt.Errorf("parameter is nested deeper than %d", maxParamDepth)

// measure returns the rough size of v. It is an error if v nests deeper than depth
// or holds a nil, which could not be sent to anyone again.
func measure(v any, depth int) (int64, error) {
	n := int64(scalarCost)
	switch v := v.(type) {
	case nil:
		return 0, errNoValue
	case string:
		n += xmlrpc.TextSize(v)
	case []byte:
		n += int64(len(v))
	case []any:
		if depth <= 0 {
			return 0, errTooDeep
		}
		n = containerCost
		for _, e := range v {
			size, err := measure(e, depth-1)
			if err != nil {
				return 0, err
			}
			n += size
		}
	case map[string]any:
		if depth <= 0 {
			return 0, errTooDeep
		}
		n = containerCost
		for name, e := range v {
			size, err := measure(e, depth-1)
			if err != nil {
				return 0, err
			}
			n += size + memberCost(name)
		}
	}
	return n, nil
}

// paramUpdate is one parameter and the nodes to notify of its value.
type paramUpdate struct {
	to  []ref
	key string // with a slash at its end, as rosmaster sends it
}

// updatesFor returns the updates to send after key was set or deleted. subs maps subscribed keys,
// all with a slash at their end, to nodes. The node setter gets no update for its subscriptions at
// key or above, because it set the value; setter is empty for a deletion.
func updatesFor(subs map[string][]ref, key, setter string) []paramUpdate {
	if len(subs) == 0 {
		return nil
	}
	key = subscriptionKey(key)
	var list []paramUpdate
	for _, sub := range slices.Sorted(maps.Keys(subs)) {
		to := subs[sub]
		switch {
		case strings.HasPrefix(key, sub): // key itself, or a namespace above it
			if setter != "" {
				to = excluding(to, setter)
			}
			list = append(list, paramUpdate{to, key})
		case strings.HasPrefix(sub, key): // below key: still set, or deleted by this value
			list = append(list, paramUpdate{to, sub})
		}
	}
	return list
}

func excluding(list []ref, caller string) []ref {
	return slices.DeleteFunc(slices.Clone(list), func(c ref) bool { return c.caller == caller })
}

// subscriptionKey returns key as keys are compared: with a slash at the end, so that /a/ is no
// prefix of /ab/.
func subscriptionKey(key string) string {
	if key == "/" {
		return key
	}
	return canonical(key) + "/"
}
