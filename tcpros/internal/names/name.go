// Package names knows the names of ROS: graph names and their remapping, the name:=value
// arguments of a command line, and names of types. It is immutable and pure. Package tcpros and the
// packages below it call it; nothing else does.
package names

import (
	"errors"
	"fmt"
	"strings"
)

// MaxBytes bounds a graph resource name. Stock ROS has no limit; a name is
// repeated in every header and every master call.
const MaxBytes = 1024

// CheckName reports whether name is a valid graph resource name as roscpp defines
// it: the first character is a letter, / or ~, the others are letters, digits, /
// and _. The empty name is valid.
func CheckName(name string) error {
	if len(name) > MaxBytes {
		return &NameError{name[:64] + "...", fmt.Sprintf("%d bytes, limit %d", len(name), MaxBytes)}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '/':
		case i == 0 && c == '~':
		case i == 0:
			return &NameError{
				name,
				fmt.Sprintf("%q is not valid as the first character, a-z, A-Z, / and ~ are", c),
			}
		case c >= '0' && c <= '9', c == '_':
		default:
			return &NameError{name, fmt.Sprintf("%q at %d is not valid, a-z, A-Z, 0-9, / and _ are", c, i)}
		}
	}
	return nil
}

// Clean collapses runs of slashes and strips one at the end, as roscpp does.
// The root namespace becomes the empty string.
func Clean(name string) string {
	if strings.Contains(name, "//") {
		var b strings.Builder
		for i := range len(name) {
			if name[i] != '/' || i == 0 || name[i-1] != '/' {
				b.WriteByte(name[i])
			}
		}
		name = b.String()
	}
	return strings.TrimSuffix(name, "/")
}

// Resolver resolves graph resource names for one node.
type Resolver struct {
	namespace string            // "", which is the root, or "/a/b"
	Node      string            // resolved node name, for ~
	remaps    map[string]string // both sides resolved
}

// New determines namespace, node name and remappings in roscpp's order. Remappings apply to the
// node name, so New reads them first; remappings of private names need the node name, so New reads
// them last.
func New(base string, anonymous string, namespace string, a Args) (*Resolver, error) {
	if a.Namespace != "" {
		namespace = a.Namespace
	}
	n := &Resolver{namespace: Clean("/" + namespace), remaps: map[string]string{}}
	if err := CheckName(n.namespace); err != nil {
		return nil, fmt.Errorf("namespace: %w", err)
	}
	if a.Name != "" {
		base, anonymous = a.Name, ""
	}
	if err := checkNodeName(base); err != nil {
		return nil, err
	}
	if err := n.addRemaps(a.Remaps, base, false); err != nil {
		return nil, err
	}
	node, err := n.Resolve(base)
	if err != nil {
		return nil, err
	}
	if anonymous != "" {
		node += "_" + anonymous
	}
	n.Node = node
	return n, n.addRemaps(a.Remaps, base, true)
}

func checkNodeName(name string) error {
	switch {
	case name == "":
		return &NameError{name, "a node name must not be empty"}
	case strings.ContainsAny(name, "/~"):
		return &NameError{name, "a node name cannot contain / or ~"}
	}
	return CheckName(name)
}

// addRemaps adds the remappings with a private name (~x) if private is true, and all others if
// private is false.
func (n *Resolver) addRemaps(remaps []Remap, base string, private bool) error {
	for _, r := range remaps {
		uses := strings.HasPrefix(r.From, "~") || strings.HasPrefix(r.To, "~")
		if uses != private || r.From == "" || r.From == base {
			continue // roscpp does not remap the name that it was started under
		}
		from, err := n.expand(r.From)
		if err != nil {
			return fmt.Errorf("remapping %q: %w", r.From+":="+r.To, err)
		}
		to, err := n.expand(r.To)
		if err != nil {
			return fmt.Errorf("remapping %q: %w", r.From+":="+r.To, err)
		}
		n.remaps[from] = to
	}
	return nil
}

// expand makes name absolute.
func (n *Resolver) expand(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	switch {
	case name == "":
		return Clean(n.namespace + "/"), nil
	case name[0] == '~':
		name = n.Node + "/" + name[1:]
	case name[0] != '/':
		name = n.namespace + "/" + name
	}
	return Clean(name), nil
}

// Resolve makes name absolute and applies the remappings once.
func (n *Resolver) Resolve(name string) (string, error) {
	full, err := n.expand(name)
	if err != nil {
		return "", err
	}
	if to, ok := n.remaps[full]; ok {
		full = to
	}
	if full == "" {
		return "", &NameError{name, "stands for the root namespace"}
	}
	return full, nil
}

// ErrName matches every *NameError.
var ErrName = errors.New("invalid name")

// NameError says why a graph resource name is refused.
type NameError struct {
	Name   string
	Reason string
}

// Error implements error.
func (e *NameError) Error() string { return fmt.Sprintf("name %q: %s", e.Name, e.Reason) }

// Is reports whether target is ErrName.
func (e *NameError) Is(target error) bool { return target == ErrName }
