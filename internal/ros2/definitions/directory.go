package definitions

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Limits of InDirectory: what is larger is no directory of message files.
const (
	maxDefinitionFiles = 100_000
	maxDefinitionBytes = 1 << 20
)

// InDirectory returns the definitions of the .msg files in a directory and below, such as the src or the share
// directory of a workspace: PACKAGE/msg/NAME.msg. Of two files for the same name, the first counts.
func InDirectory(dir fs.FS) (func(type2 string) (schema string, ok bool), error) {
	files := map[string]string{} // by "pkg/Name"
	seen := 0
	err := fs.WalkDir(dir, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxDefinitionFiles {
			return errors.New("has more than 100000 files; name a directory with message files")
		}
		parent, base := path.Split(p)
		name, isMsg := strings.CutSuffix(base, ".msg")
		if e.IsDir() || !isMsg || path.Base(parent) != "msg" {
			return nil
		}
		key := path.Base(path.Dir(path.Clean(parent))) + "/" + name
		if _, ok := files[key]; !ok {
			files[key] = p
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return func(type2 string) (string, bool) {
		return schemaOf(dir, files, strings.Replace(type2, "/msg/", "/", 1))
	}, nil
}

// schemaOf returns the definition of a type, followed by the definitions of the types of its fields, as far as there
// are files of them.
func schemaOf(dir fs.FS, files map[string]string, name string) (string, bool) {
	text, err := readDefinition(dir, files[name])
	if files[name] == "" || err != nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString(text)
	done := map[string]bool{name: true}
	queue := fieldTypes(name, text)
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if done[next] || files[next] == "" {
			continue
		}
		done[next] = true
		text, err := readDefinition(dir, files[next])
		if err != nil {
			return "", false
		}
		b.WriteString("\n" + strings.Repeat("=", 80) + "\nMSG: " + next + "\n" + text)
		queue = append(queue, fieldTypes(next, text)...)
	}
	return b.String(), true
}

func readDefinition(dir fs.FS, name string) (string, error) {
	st, err := fs.Stat(dir, name)
	if err != nil {
		return "", err
	}
	if st.Size() > maxDefinitionBytes {
		return "", errors.New("is too long for a definition")
	}
	text, err := fs.ReadFile(dir, name)
	return string(text), err
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
