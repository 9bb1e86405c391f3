package bagname

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/naming"
)

// dateLayout is the date in stock's names.
const dateLayout = "2006-01-02-15-04-05"

// Check returns an error for a template with unknown letters or braces, and for one whose directory is not
// fixed: the directory is opened once. The error does not repeat the template.
func (o Output) Check() error {
	dir, name := filepath.Split(o.Template)
	if strings.ContainsAny(dir, "%{") {
		return errors.New("the directory has to be the same for all files: want letters of strftime, {time}, {split} and {host} after the last slash only")
	}
	for i := 0; i < len(name); i++ {
		switch rest := name[i:]; rest[0] {
		case '%':
			i++
			known := false
			if len(rest) > 1 {
				_, known = naming.Letter(rest[1], time.Time{})
			}
			if !known {
				return fmt.Errorf("unknown conversion %q: want one of %s, or %%%% for a percent sign", rest[:min(2, len(rest))], naming.Letters())
			}
		case '{':
			if !strings.HasPrefix(rest, "{time}") && !strings.HasPrefix(rest, "{split}") && !strings.HasPrefix(rest, "{host}") {
				return errors.New("unknown text in braces: want {time}, {split} or {host}")
			}
		}
	}
	return nil
}

// expand replaces the letters and braces of a checked template.
func (o Output) expand(now time.Time, number int) string {
	dir, name := filepath.Split(o.Template)
	var out strings.Builder
	out.WriteString(dir)
	for i := 0; i < len(name); i++ {
		rest := name[i:]
		switch {
		case rest[0] == '%' && len(rest) > 1:
			i++
			text, _ := naming.Letter(rest[1], now)
			out.WriteString(text)
		case strings.HasPrefix(rest, "{time}"):
			out.WriteString(now.Format(dateLayout))
			i += len("{time}") - 1
		case strings.HasPrefix(rest, "{split}"):
			out.WriteString(strconv.Itoa(number))
			i += len("{split}") - 1
		case strings.HasPrefix(rest, "{host}"):
			out.WriteString(naming.Host())
			i += len("{host}") - 1
		default:
			out.WriteByte(rest[0])
		}
	}
	return out.String()
}
