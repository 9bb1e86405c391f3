// This file fills in templates for the names of bags and for their URLs in a store.

package files

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

// layouts are the Go layouts of the letters of strftime. No layout can produce a slash.
var layouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'j': "002", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
	'p': "PM", 'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'z': "-0700", 'F': "2006-01-02",
	'T': "15:04:05",
}

// Letter returns the text of the conversion %letter of strftime at the time now, and whether the
// letter is known.
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

// Letters lists the conversions that Letter knows, except the percent sign.
func Letters() string {
	list := []string{"%s"}
	for _, letter := range slices.Sorted(maps.Keys(layouts)) {
		list = append(list, "%"+string(letter))
	}
	return strings.Join(list, " ")
}

// Host returns the name of the machine in a form that is valid in the name of a file.
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
