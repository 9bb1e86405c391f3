package definitions

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// maxClassBytes is the largest file with a class of Python that is read.
const maxClassBytes = 4 << 20

// installed has the classes of message packages for Python. Their files are read, and not run.
//
// ADR 0131: they have the texts with which stock's rosbag check compares.
type installed struct {
	folders []string
	found   map[string][]mismatch.Definition // what Find has returned
}

// Installed returns the definitions of the message packages for Python that ROS uses in this environment:
// those in PYTHONPATH, and those in the folders of the system, in this order.
func Installed() Set { return InstalledIn(pythonFolders()...) }

// InstalledIn returns the definitions of the message packages for Python in folders.
func InstalledIn(folders ...string) Set {
	return &installed{folders, make(map[string][]mismatch.Definition)}
}

// pythonFolders returns where Python looks for the packages of ROS. A shell in which ROS was not set up
// still finds those of the releases on the disk.
func pythonFolders() []string {
	all := filepath.SplitList(os.Getenv("PYTHONPATH"))
	all = slices.DeleteFunc(all, func(dir string) bool { return !filepath.IsAbs(dir) })
	releases, err := filepath.Glob("/opt/ros/*/lib/python*/dist-packages")
	if err == nil {
		slices.Reverse(releases) // the last release of ROS 1 is the last of the alphabet, too
		all = append(all, releases...)
	}
	return append(all, "/usr/lib/python3/dist-packages")
}

// String names the place.
func (*installed) String() string { return InstalledName }

// Find implements mismatch.Known. The first folder that has the type counts, as in Python.
func (s *installed) Find(typ string) ([]mismatch.Definition, error) {
	if all, ok := s.found[typ]; ok {
		return all, nil
	}
	var all []mismatch.Definition
	pkg, name, ok := strings.Cut(typ, "/")
	for _, dir := range s.folders {
		if !ok || !isName(pkg) || !isName(name) { // it is the text of a recording, which could lead elsewhere
			break
		}
		class, err := readClass(filepath.Join(dir, pkg, "msg", "_"+name+".py"))
		if err != nil {
			continue // what cannot be read is not installed
		}
		if text, ok := textOfClass(class); ok {
			if t, err := rosmsg.Parse(typ, text); err == nil {
				all = []mismatch.Definition{{Type: typ, MD5Sum: t.MD5Sum(), Text: text}}
			}
		}
		break
	}
	s.found[typ] = all
	return all, nil
}

func (s *installed) own(typ string) (text string, ok bool, err error) { return firstOf(s.Find(typ)) }

// isName reports whether a part of the name of a type has the characters that ROS allows.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func readClass(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // of checked names
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read from
	b, err := io.ReadAll(io.LimitReader(f, maxClassBytes))
	return string(b), err
}

// textOfClass returns the definition in a class that genpy has made: a string in three quotes, in which
// only quotes are escaped.
func textOfClass(class string) (text string, ok bool) {
	const quotes = `"""`
	_, rest, ok := strings.Cut(class, "\n  _full_text = "+quotes)
	for end := 0; ok; end++ {
		at := strings.Index(rest[end:], quotes)
		if at < 0 {
			return "", false
		}
		if end += at; end > 0 && rest[end-1] == '\\' {
			continue // the last character of the text is a quote
		}
		text = strings.ReplaceAll(rest[:end], `\"\"\"`, quotes)
		if strings.HasSuffix(text, `\"`) {
			text = text[:len(text)-2] + `"`
		}
		return text, true
	}
	return "", false
}

// IsBare reports whether a definition is that of the table of noetic, which lacks comments, and not also
// one of here, which is what is installed.
func IsBare(d mismatch.Definition, here Set) bool {
	text, _, ok := noetic.Definition(d.Type)
	if !ok || text != d.Text {
		return false
	}
	all, err := here.Find(d.Type)
	return err != nil || !slices.Contains(all, d)
}

// asInstalled has the definitions of a set, with the texts that are installed where these have the same
// md5sums.
type asInstalled struct {
	Set
	installed Set
}

// Find implements mismatch.Known.
func (s asInstalled) Find(typ string) ([]mismatch.Definition, error) {
	all, err := s.Set.Find(typ)
	if len(all) == 0 || err != nil {
		return all, err
	}
	here, err := s.installed.Find(typ)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for i, d := range all {
		if at := slices.IndexFunc(here,
			func(h mismatch.Definition) bool { return h.MD5Sum == d.MD5Sum }); at >= 0 {
			all[i].Text = here[at].Text
		}
	}
	return all, nil
}

func (s asInstalled) own(typ string) (text string, ok bool, err error) { return firstOf(s.Find(typ)) }
