package definitions

import (
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/msgfiles"
)

// User returns a definition that the user has of a type, if there is one.
type User func(type2 string) (schema string, ok bool, err error)

// OfFolder returns the definitions in a folder: each followed by those of the types of its fields, as far
// as there are files of them.
func OfFolder(f *msgfiles.Folder) User {
	return func(type2 string) (schema string, ok bool, err error) {
		name := strings.Replace(type2, "/msg/", "/", 1)
		text, ok, err := f.Text(name)
		if !ok || err != nil {
			return "", ok, err
		}
		var b strings.Builder
		b.WriteString(text)
		done := map[string]bool{name: true}
		queue := fieldTypes(name, text)
		for len(queue) > 0 {
			next := queue[0]
			queue = queue[1:]
			if done[next] {
				continue
			}
			done[next] = true
			text, ok, err := f.Text(next)
			switch {
			case err != nil:
				return "", true, err
			case !ok:
				continue
			}
			b.WriteString("\n" + strings.Repeat("=", 80) + "\nMSG: " + next + "\n" + text)
			queue = append(queue, fieldTypes(next, text)...)
		}
		return b.String(), true, nil
	}
}

// fieldTypes returns the possible types of the fields in the definition of a type, as "pkg/Name".
func fieldTypes(of, text string) (all []string) {
	pkg, _, _ := strings.Cut(of, "/")
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || strings.HasPrefix(words[0], "#") {
			continue
		}
		name, _, _ := strings.Cut(words[0], "[")
		name = strings.Replace(name, "/msg/", "/", 1)
		if !strings.Contains(name, "/") {
			name = pkg + "/" + name
		}
		all = append(all, name)
	}
	return all
}
