// Package bagname names the bags of a recording after the options of the user, the date and a number. It is
// pure: it does not know which names are taken.
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

// OriginalSuffix is added to the name of a repaired bag to name the original: the file that the repair
// has read.
const OriginalSuffix = LedgerSuffix + ActiveSuffix

// LedgerSuffix is added to the name of a repaired bag to name the original in the ledger, where all files
// stand with their names without ActiveSuffix.
const LedgerSuffix = ".orig"

// Output says how the bags of a recording are named. Name takes precedence over Prefix, and Template over
// both.
type Output struct {
	Prefix string // PREFIX_<date>.bag; a trailing .bag of the prefix is dropped. Empty: <date>.bag
	Name   string // NAME.bag; a trailing .bag of the name is not doubled

	// Template may have the letters of strftime, {time} for the date as in other names, {split} for the
	// number of the file and {host} for the name of the machine. If the name is taken, a number is added.
	Template string

	Mode fs.FileMode // of the files, regardless of the umask; zero means 0640, reduced by the umask
}

// Target returns the path of a finished bag. A negative number is not part of the name. The parts and their
// order are those of stock.
func (o Output) Target(now time.Time, number int) string {
	if o.Template != "" {
		name, err := o.expand(now, max(number, 0))
		if err != nil {
			name = o.Template // which Check refuses
		}
		return strings.TrimSuffix(name, ".bag") + ".bag"
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

// Dir returns the directory of the bags.
func (o Output) Dir() string {
	dir, _ := filepath.Split(o.Target(time.Now(), 0))
	return cmp.Or(dir, ".")
}
