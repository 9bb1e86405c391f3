package bagfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// dateLayout is the date in stock's names.
const dateLayout = "2006-01-02-15-04-05"

// strftime is what each letter of a template stands for. Nothing in it can hold a
// slash.
var strftime = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'j': "002", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
	'p': "PM", 'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05",
}

// Check refuses a template with what it does not know, and one that changes the
// directory, which is opened once.
func (o Output) Check() error {
	dir, name := filepath.Split(o.Template)
	if strings.ContainsAny(dir, "%{") {
		return fmt.Errorf("recorder: name template %q: the directory has to be the same for all files", o.Template)
	}
	for i := 0; i < len(name); i++ {
		switch rest := name[i:]; rest[0] {
		case '%':
			if i++; len(rest) == 1 || strftime[rest[1]] == "" && rest[1] != '%' && rest[1] != 's' {
				return fmt.Errorf("recorder: name template %q: unknown conversion %q", o.Template, rest[:min(2, len(rest))])
			}
		case '{':
			if !strings.HasPrefix(rest, "{time}") && !strings.HasPrefix(rest, "{split}") && !strings.HasPrefix(rest, "{host}") {
				return fmt.Errorf("recorder: name template %q: only {time}, {split} and {host} are known", o.Template)
			}
		}
	}
	return nil
}

// expand fills a checked template in.
func (o Output) expand(now time.Time, number int) string {
	dir, name := filepath.Split(o.Template)
	var out strings.Builder
	out.WriteString(dir)
	for i := 0; i < len(name); i++ {
		rest := name[i:]
		switch {
		case rest[0] == '%' && len(rest) > 1:
			i++
			switch rest[1] {
			case '%':
				out.WriteByte('%')
			case 's':
				out.WriteString(strconv.FormatInt(now.Unix(), 10))
			default:
				out.WriteString(now.Format(strftime[rest[1]]))
			}
		case strings.HasPrefix(rest, "{time}"):
			out.WriteString(now.Format(dateLayout))
			i += len("{time}") - 1
		case strings.HasPrefix(rest, "{split}"):
			out.WriteString(strconv.Itoa(number))
			i += len("{split}") - 1
		case strings.HasPrefix(rest, "{host}"):
			out.WriteString(hostName())
			i += len("{host}") - 1
		default:
			out.WriteByte(rest[0])
		}
	}
	return out.String()
}

// hostName returns the name of the machine as it can stand in a file's name.
func hostName() string {
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
