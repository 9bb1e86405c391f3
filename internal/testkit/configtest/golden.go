// Package configtest helps the tests of programs to compare their options with those written down:
// names, abbreviations, help, and what each option sets.
package configtest

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that tests compare with anew")

// golden compares text with the file at path, or writes that file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); d != "" {
		t.Errorf("%s differs; -update writes it anew (-want +got):\n%s", path, d)
	}
}

// flagName matches the name of an option in the help.
var flagName = regexp.MustCompile(`(?m)^  (?:-(.), |    )?--([a-z0-9-]+)(=?)`)

// abbreviations returns one line for each letter, name and abbreviation of an option in help: the keys
// that it sets, or the error. Of the abbreviations that mean the option it returns the shortest: a longer
// one fits fewer options, so it means the same.
func (p *Program) abbreviations(help string) string {
	var b strings.Builder
	seen := []string{"help", "man", "version"}
	for _, m := range flagName.FindAllStringSubmatch(help, -1) {
		if slices.Contains(seen, m[2]) {
			continue
		}
		means := func(name string) string {
			args := []string{p.Word, name}
			if m[3] != "" {
				args = append(args, "5")
			}
			return p.keys(args)
		}
		whole := "--" + m[2]
		wanted, found := means(whole), false
		for end := len("--x"); end <= len(whole); end++ {
			name := whole[:end]
			if !slices.Contains(seen, name) && (!found || name == whole) {
				got := means(name)
				found = found || got == wanted
				fmt.Fprintf(&b, "%s %s\n", name, got)
				seen = append(seen, name)
			}
		}
		if m[1] != "" {
			fmt.Fprintf(&b, "-%s %s\n", m[1], means("-"+m[1]))
		}
	}
	return b.String()
}

// keys returns the keys of the options that args set besides Word, or the error.
func (p *Program) keys(args []string) string {
	settings, err := p.list(args)
	var keys []string
	for _, s := range settings {
		if s.Origin == "flag" && !slices.Equal(s.Values, []string{p.Word}) {
			keys = append(keys, s.Key)
		}
	}
	if len(keys) == 0 && err != nil {
		return err.Error()
	}
	return strings.Join(keys, " ")
}

// fields returns one line for each exported field of a struct that is not zero.
func fields(v any) string {
	var b strings.Builder
	writeFields(&b, "", reflect.ValueOf(v))
	return b.String()
}

func writeFields(b *strings.Builder, name string, v reflect.Value) {
	switch {
	case v.IsZero():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				writeFields(b, name+"."+f.Name, v.Field(i))
			}
		}
	default:
		fmt.Fprintf(b, "  %s: %+v\n", strings.TrimPrefix(name, "."), v.Interface())
	}
}
