package bagname

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/files"
)

// dateLayout is the date in stock's names.
const dateLayout = "2006-01-02-15-04-05"

// Check returns an error for a template with unknown letters or braces, and for one whose directory is not
// fixed: the directory is opened once. The error does not repeat the template.
func (o Output) Check() error {
	if dir, _ := filepath.Split(o.Template); strings.ContainsAny(dir, "%{") {
		return errors.New("the directory has to be the same for all files: want letters of strftime, {time}, {split} and {host} after the last slash only")
	}
	_, err := o.expand(time.Time{}, 0)
	return err
}

// expand replaces the letters and braces of the template. A checked template has no error.
func (o Output) expand(now time.Time, number int) (string, error) {
	dir, name := filepath.Split(o.Template)
	out := []byte(dir)
	braces := map[string]string{
		"time": now.Format(dateLayout), "split": strconv.Itoa(number),
		"host": files.Host(),
	}
	for i := 0; i < len(name); i++ {
		switch rest := name[i:]; rest[0] {
		case '%':
			text, known := "", false
			if len(rest) > 1 {
				text, known = files.Letter(rest[1], now)
			}
			if !known {
				return "", fmt.Errorf("unknown conversion %q: want one of %s, or %%%% for a percent sign",
					rest[:min(2, len(rest))], files.Letters())
			}
			out = append(out, text...)
			i++
		case '{':
			word, _, closed := strings.Cut(rest[1:], "}")
			text, known := braces[word]
			if !known || !closed {
				return "", errors.New("unknown text in braces: want {time}, {split} or {host}")
			}
			out = append(out, text...)
			i += len(word) + 1
		default:
			out = append(out, rest[0])
		}
	}
	return string(out), nil
}
