package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// maxFileBytes is the limit of the size of a configuration file: ten times the size of a file with all
// options.
const maxFileBytes = 256 << 10

// readFile sets options from the YAML file at path.
func readFile(path string, all []*option) error {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxFileBytes:
		return fmt.Errorf("%s is longer than %d KiB: is it a configuration file?", path, maxFileBytes>>10)
	}
	return readYAML(path, text, all)
}

// readYAML is readFile for the text of a file. It accepts one mapping of options to values, lists of
// values or mappings of values. It follows no aliases, so that its cost is linear in the length of the
// text.
func readYAML(path string, text []byte, all []*option) error {
	loader, err := yaml.NewLoader(strings.NewReader(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := fileReader{path: path, options: all, seen: map[*option]int{}}
	r.secret = r.holdsSecret(string(text))
	// ADR 0036: nodes know their lines.
	var document, next yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return nil // empty, or comments only
	case err != nil:
		return r.syntaxError(text, err)
	}
	switch err := loader.Load(&next); {
	case err == nil:
		return fmt.Errorf("%s:%d: a second YAML document begins; remove the line with ---", path, next.Line)
	case !errors.Is(err, io.EOF):
		return r.syntaxError(text, err)
	}
	if err := r.root(document.Content[0]); err != nil {
		return err
	}
	return r.errs.err()
}

// syntaxError converts an error of the YAML package to our text and position.
func (r *fileReader) syntaxError(text []byte, err error) error {
	var where *yaml.LoadError
	if !errors.As(err, &where) {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	at := where.Mark.Line
	// the unterminated element begins there
	if where.ContextMark.Line > 0 && !strings.Contains(where.ContextMsg, "block") {
		at = where.ContextMark.Line
	}
	lines := strings.Split(string(text), "\n")
	if at < 1 || at > len(lines) {
		return fmt.Errorf("%s: not valid YAML: %s", r.path, where.Message)
	}
	if strings.Contains(where.Message, "a tab character") { // the mark is at the element before the tab
		at = tabIndented(lines, at)
	}
	hint := "want KEY: VALUE, with a blank after the colon and the keys of one level in one column; text with special characters belongs into 'quotes'"
	if indentedByTab(lines[at-1]) {
		hint = "indent with blanks, not with tabs"
	}
	if r.secret {
		return fmt.Errorf("%s:%d: not valid YAML (%s)", r.path, at, hint)
	}
	return fmt.Errorf("%s:%d: not valid YAML: %s in %q (%s)", r.path, at, where.Message,
		abbreviate(lines[at-1]), hint)
}

// tabIndented returns the first line, from line at on, that is indented by a tab, or at.
func tabIndented(lines []string, at int) int {
	if i := slices.IndexFunc(lines[at-1:], indentedByTab); i > 0 {
		return at + i
	}
	return at
}

func indentedByTab(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "\t") }

// abbreviate returns the first 60 bytes of a text, without white space around it.
func abbreviate(s string) string {
	const most = 60
	if s = strings.TrimSpace(s); len(s) > most {
		s = s[:most]
	}
	return s
}

// fileReader sets options from one file.
type fileReader struct {
	path    string
	options []*option
	seen    map[*option]int // the line that sets each option
	secret  bool            // the file may have a secret, which errors must not quote
	errs    Errors          // about the entries that were read
}

// holdsSecret reports whether a text has the key of an option with a secret.
func (r *fileReader) holdsSecret(text string) bool {
	return slices.ContainsFunc(r.options, func(o *option) bool {
		return o.Secret && strings.Contains(snake(strings.ToLower(text)), o.key)
	})
}

// errorAt returns an error about a key.
func (r *fileReader) errorAt(n *yaml.Node, key, format string, args ...any) error {
	return &placedError{
		n.Line,
		fmt.Sprintf("%s:%d: %s: %s", r.path, n.Line, key, fmt.Sprintf(format, args...)),
	}
}

func (r *fileReader) root(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		found := ""
		if !r.secret {
			found = fmt.Sprintf(", not %q", abbreviate(describe(n)))
		}
		return fmt.Errorf("%s:%d: want KEY: VALUE on each line, with a blank after the colon%s", r.path,
			n.Line, found)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := r.entry(n.Content[i], n.Content[i+1]); err != nil {
			r.errs = append(r.errs, err)
		}
	}
	return nil
}

// describe says what a node is: a list, a mapping, or its text.
func describe(n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode {
		return "a list"
	}
	if n.Kind == yaml.MappingNode {
		return "keys and values"
	}
	return n.Value
}

// entry reads one key with its value.
func (r *fileReader) entry(key, value *yaml.Node) error {
	if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
		return &placedError{
			key.Line,
			fmt.Sprintf("%s:%d: want the name of an option before the colon", r.path, key.Line),
		}
	}
	name := abbreviate(key.Value)
	o := r.find(key.Value)
	switch {
	case o == nil:
		return r.errorAt(key, quoted(name), "there is no such option%s", r.suggest(key.Value))
	case o.key == "" || o.key == "config":
		return r.errorAt(key, name, "this is for the command line only; remove the line")
	case r.seen[o] > 0:
		return r.errorAt(key, name, "set twice, first in line %d; remove one", r.seen[o])
	}
	r.seen[o] = key.Line
	o.origin = origin{place: fmt.Sprintf("%s:%d", r.path, key.Line), path: r.path, line: key.Line}
	if err := r.values(o, name, value); err != nil {
		o.bad = true
		return err
	}
	r.errs = append(r.errs, o.read()...)
	return nil
}

// quoted returns name, quoted unless it is a plain name.
func quoted(name string) string {
	if strings.ContainsFunc(name,
		func(c rune) bool { return c != '_' && c != '-' && (c < '0' || c > 'z') }) || name == "" {
		return fmt.Sprintf("%q", name)
	}
	return name
}

func (r *fileReader) find(key string) *option {
	for _, o := range r.options {
		if key = snake(key); key == o.key || key == snake(o.Name) {
			return o
		}
	}
	return nil
}

// suggest returns a hint at the key that may have been meant.
func (r *fileReader) suggest(key string) string {
	private := strings.HasPrefix(key, "__")
	key = strings.TrimLeft(snake(strings.ToLower(key)), "_")
	if private || key == "name" || key == "node_name" {
		return "; ROS arguments stand on the command line only: __" + strings.TrimPrefix(key, "node_") +
			":=VALUE"
	}
	var keys []string
	for _, o := range r.options {
		switch key {
		case strings.ToLower(o.Env), o.Short, o.key, strings.ReplaceAll(o.key, "_", ""):
			return "; did you mean " + o.key + "?"
		}
		keys = append(keys, o.key)
	}
	if like := wording.NearestName(key, keys); like != "" {
		return "; did you mean " + like + "?"
	}
	return "; the keys are the long options of --help, with _ for -"
}

// values sets the values of an option as they would stand on the command line.
func (r *fileReader) values(o *option, name string, n *yaml.Node) error {
	switch {
	case n.Kind == yaml.SequenceNode && o.list():
		return r.items(o, name, n)
	case n.Kind == yaml.SequenceNode:
		return r.errorAt(n, name, "a list, but the option has one value (%s)", o.expected())
	case n.Kind == yaml.MappingNode && o.pairs():
		return r.pairs(o, name, n)
	case n.Kind == yaml.MappingNode:
		return r.errorAt(n, name, "keys and values, but the option has none (%s)", o.expected())
	}
	v, err := r.scalar(name, n)
	o.values = []given{{text: v, line: n.Line}}
	return err
}

func (r *fileReader) items(o *option, name string, n *yaml.Node) error {
	if err := r.refuseSpecialYAML(name, n); err != nil {
		return err
	}
	for _, item := range n.Content {
		v, err := r.scalar(name, item)
		if err != nil {
			return err
		}
		o.values = append(o.values, given{text: v, line: item.Line})
	}
	return nil
}

// pairs reads a mapping as KEY=VALUE.
func (r *fileReader) pairs(o *option, name string, n *yaml.Node) error {
	if err := r.refuseSpecialYAML(name, n); err != nil {
		return err
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, err := r.scalar(name, n.Content[i])
		if err != nil {
			return err
		}
		if lines[k] > 0 {
			return r.errorAt(n.Content[i], name, "%s is set twice, first in line %d; remove one",
				abbreviate(k), lines[k])
		}
		lines[k] = n.Content[i].Line
		v, err := r.scalar(name+": "+abbreviate(k), n.Content[i+1])
		if err != nil {
			return err
		}
		o.values = append(o.values, given{text: k + "=" + v, line: lines[k]})
	}
	return nil
}

func (r *fileReader) scalar(name string, n *yaml.Node) (string, error) {
	if err := r.refuseSpecialYAML(name, n); err != nil {
		return "", err
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", r.errorAt(n, name, "want one value here, not %s", describe(n))
	case n.Tag == "!!null":
		return "", r.errorAt(n, name, "there is no value; give one, or remove the line")
	}
	return n.Value, nil
}

// refuseSpecialYAML refuses anchors, aliases and tags.
func (r *fileReader) refuseSpecialYAML(name string, n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return r.errorAt(n, name,
			"&names and *references are not supported; write the value, in 'quotes' if it is a text")
	}
	if !strings.HasPrefix(n.Tag, "!!") {
		return r.errorAt(n, name, "tags are not supported; put text that begins with ! in 'quotes'")
	}
	return nil
}
