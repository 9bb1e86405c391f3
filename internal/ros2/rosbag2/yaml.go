package rosbag2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// parseYAML returns the root of a text with one document, nil if the text is empty. Aliases are
// kept as nodes that nothing here follows, so the cost is linear in the length of the text.
func parseYAML(text []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotYAML, err)
	}
	var doc yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNotYAML, err)
	case len(doc.Content) == 0:
		return nil, nil
	}
	return doc.Content[0], nil
}

// yamlMap reads the values of a mapping. The first error stays in err.
type yamlMap struct {
	node *yaml.Node
	what string
	err  error
}

// mapping returns n as a mapping, which errors call what.
func mapping(n *yaml.Node, what string) (*yamlMap, error) {
	if n.Kind != yaml.MappingNode {
		return nil, at(n, "%s is not a mapping of keys to values", what)
	}
	return &yamlMap{node: n, what: what}, nil
}

// get returns the value of a key, nil if there is none.
func (m *yamlMap) get(key string) *yaml.Node {
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if k := m.node.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return m.node.Content[i+1]
		}
	}
	return nil
}

// must fails if a key is missing.
func (m *yamlMap) must(key string) {
	if m.get(key) == nil {
		m.fail(at(m.node, "%s has no %s", m.what, key))
	}
}

func (m *yamlMap) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// sub returns the mapping below a key; an empty one if the key is missing.
func (m *yamlMap) sub(key string) *yamlMap {
	n := m.get(key)
	if n == nil || isNull(n) {
		return &yamlMap{node: &yaml.Node{Kind: yaml.MappingNode}, what: key}
	}
	s, err := mapping(n, key)
	if err != nil {
		m.fail(err)
		return &yamlMap{node: &yaml.Node{Kind: yaml.MappingNode}, what: key}
	}
	return s
}

// list returns the elements of the sequence below a key; none if it is missing.
func (m *yamlMap) list(key string) []*yaml.Node {
	n := m.get(key)
	switch {
	case n == nil || isNull(n):
		return nil
	case n.Kind != yaml.SequenceNode:
		m.fail(at(n, "%s is not a list", key))
		return nil
	}
	return n.Content
}

// text returns a scalar; empty if the key is missing.
func (m *yamlMap) text(key string) string {
	n := m.get(key)
	if n == nil || isNull(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		m.fail(at(n, "%s is %s; want a text", key, shown(n)))
		return ""
	}
	return n.Value
}

// uint returns a number; 0 if the key is missing.
func (m *yamlMap) uint(key string) uint64 {
	n := m.get(key)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseUint(n.Value, 10, 64)
	if err != nil || n.Kind != yaml.ScalarNode {
		m.fail(at(n, "%s is %s; want a number that is not negative", key, shown(n)))
	}
	return v
}

// int returns a number with a sign; 0 if the key is missing.
func (m *yamlMap) int(key string) int64 {
	n := m.get(key)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || n.Kind != yaml.ScalarNode {
		m.fail(at(n, "%s is %s; want a number of 64 bits", key, shown(n)))
	}
	return v
}

func (m *yamlMap) bool(key string) bool {
	n := m.get(key)
	if n == nil {
		return false
	}
	v, err := strconv.ParseBool(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		m.fail(at(n, "%s is %s; want true or false", key, shown(n)))
	}
	return v
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// shown describes a value in an error.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		const most = 40
		if len(n.Value) > most {
			return fmt.Sprintf("%q...", n.Value[:most])
		}
		return strconv.Quote(n.Value)
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	case yaml.DocumentNode, yaml.StreamNode:
	}
	return "nothing"
}

// at returns an error with the line of a value.
func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}
