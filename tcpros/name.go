package tcpros

import (
	"fmt"
	"strings"
)

// maxNameBytes bounds a graph resource name. Stock ROS has no limit; a name is
// repeated in every header and every master call.
const maxNameBytes = 1024

// CheckName reports whether name is a valid graph resource name as roscpp defines
// it: the first character is a letter, / or ~, the others are letters, digits, /
// and _. The empty name is valid.
func CheckName(name string) error {
	if len(name) > maxNameBytes {
		return &NameError{name[:64] + "...", fmt.Sprintf("%d bytes, limit %d", len(name), maxNameBytes)}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '/':
		case i == 0 && c == '~':
		case i == 0:
			return &NameError{name, fmt.Sprintf("%q is not valid as the first character, a-z, A-Z, / and ~ are", c)}
		case c >= '0' && c <= '9', c == '_':
		default:
			return &NameError{name, fmt.Sprintf("%q at %d is not valid, a-z, A-Z, 0-9, / and _ are", c, i)}
		}
	}
	return nil
}

// cleanName collapses runs of slashes and strips one at the end, as roscpp does.
// The root namespace becomes the empty string.
func cleanName(name string) string {
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

// names resolves graph resource names for one node.
type names struct {
	namespace string            // "", which is the root, or "/a/b"
	node      string            // resolved node name, for ~
	remaps    map[string]string // both sides resolved
}

// newNames works out namespace, node name and remappings in roscpp's order: the
// node name itself is remapped, so the remappings come first, and those of private
// names, which need the node name, come last.
func newNames(base string, anonymous string, namespace string, a Args) (*names, error) {
	if a.Namespace != "" {
		namespace = a.Namespace
	}
	n := &names{namespace: cleanName("/" + namespace), remaps: map[string]string{}}
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
	node, err := n.resolve(base)
	if err != nil {
		return nil, err
	}
	if anonymous != "" {
		node += "_" + anonymous
	}
	n.node = node
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

// addRemaps adds the remappings whose use of the node name is as private says.
func (n *names) addRemaps(remaps []Remap, base string, private bool) error {
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
func (n *names) expand(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	switch {
	case name == "":
		return cleanName(n.namespace + "/"), nil
	case name[0] == '~':
		name = n.node + "/" + name[1:]
	case name[0] != '/':
		name = n.namespace + "/" + name
	}
	return cleanName(name), nil
}

// resolve makes name absolute and applies the remappings once.
func (n *names) resolve(name string) (string, error) {
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
