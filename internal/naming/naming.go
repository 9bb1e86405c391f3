// Package naming fills in templates for the names of bags and of their places in a store.
package naming

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// layouts are what each letter of strftime stands for. Nothing in them can hold a slash.
var layouts = map[byte]string{ //nolint:gochecknoglobals // a constant, but for the language
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'j': "002", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
	'p': "PM", 'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05",
}

// Letter returns what the conversion %letter of strftime stands for, and whether it is known.
func Letter(letter byte, now time.Time) (text string, ok bool) {
	switch layout, ok := layouts[letter]; {
	case ok:
		return now.Format(layout), true
	case letter == '%':
		return "%", true
	case letter == 's':
		return strconv.FormatInt(now.Unix(), 10), true
	}
	return "", false
}

// Letters lists the conversions that Letter knows, but for the percent sign.
func Letters() string {
	list := []string{"%s"}
	for _, letter := range slices.Sorted(maps.Keys(layouts)) {
		list = append(list, "%"+string(letter))
	}
	return strings.Join(list, " ")
}

// Host returns the name of the machine as it can stand in the name of a file.
func Host() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '/' || c == filepath.Separator {
			return '_'
		}
		return c
	}, name)
}
