package master

import "strings"

// canonical collapses slashes and removes a trailing slash. The name is not empty.
func canonical(name string) string {
	parts := strings.Join(elements(name), "/")
	if name[0] == '/' {
		return "/" + parts
	}
	return parts
}

// elements returns the non-empty parts of a name between its slashes.
func elements(name string) []string {
	var parts []string
	for p := range strings.SplitSeq(name, "/") {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// namespaceOf returns the namespace of a node name, with a slash at its end.
func namespaceOf(name string) string {
	name = strings.TrimSuffix(name, "/")
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i+1]
	}
	return "/"
}

// resolve makes name global as seen by the node called caller.
func resolve(name, caller string) string {
	if name == "" {
		return namespaceOf(caller)
	}
	name = canonical(name)
	switch name[0] {
	case '/':
		return name
	case '~':
		return canonical(caller + "/" + name[1:])
	}
	return namespaceOf(caller) + name
}

// join appends name to the namespace ns, unless name is global.
func join(ns, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(ns, "/") + "/" + name
}
