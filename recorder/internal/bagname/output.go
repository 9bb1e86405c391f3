// Package bagname names the bags of a recording: by what the user asks for, the date and a number. It
// is pure: it does not look which names are taken.
package bagname

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ActiveSuffix marks a bag that is being written, as in stock.
const ActiveSuffix = ".active"

// OriginalSuffix marks, behind the name of a bag, the file that a repair has made the bag from.
const OriginalSuffix = OrigSuffix + ActiveSuffix

// OrigSuffix makes the name of an original in the ledger another one than that of the bag that was
// made from it.
const OrigSuffix = ".orig"

// Output says how the bags of a recording are named.
type Output struct {
	Prefix string // PREFIX_<date>.bag; a trailing .bag of the prefix is dropped. Empty: <date>.bag
	Name   string // NAME.bag, a trailing .bag is not doubled. Beats Prefix

	// Template beats both: the letters of strftime, and {time} for the date as in other
	// names, {split} for the number of the file and {host} for the name of the machine.
	// A name that is taken gets a number behind.
	Template string

	Mode fs.FileMode // of the files, whatever the umask; zero means 0640, and less if the umask says so
}

// Target returns where a finished bag goes. A number that is not negative is part of the name. The
// parts and their order are stock's.
func (o Output) Target(now time.Time, number int) string {
	if o.Template != "" {
		return strings.TrimSuffix(o.expand(now, max(number, 0)), ".bag") + ".bag"
	}
	var parts []string
	if name := strings.TrimSuffix(o.Name, ".bag"); name != "" {
		parts = append(parts, name)
	} else {
		if prefix := strings.TrimSuffix(o.Prefix, ".bag"); prefix != "" {
			parts = append(parts, prefix)
		}
		parts = append(parts, now.Format(dateLayout))
	}
	if number >= 0 {
		parts = append(parts, strconv.Itoa(number))
	}
	return strings.Join(parts, "_") + ".bag"
}

// Dir returns the directory that the bags of a recording that begins now go to.
func (o Output) Dir() string {
	dir, _ := filepath.Split(o.Target(time.Now(), 0))
	return cmp.Or(dir, ".")
}
