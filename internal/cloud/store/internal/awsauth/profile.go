package awsauth

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Profile is a section of the files of the AWS tools, by its keys. Those of a list have its name in front,
// such as s3.addressing_style.
type Profile map[string]string

// profiles are the sections of both files, by name.
type profiles map[string]Profile

// readProfiles reads the files of the AWS tools. Files that are not there have no profiles. In the file
// of credentials stands what both have.
func readProfiles() (profiles, error) {
	all := profiles{}
	home, _ := os.UserHomeDir()
	for _, file := range []struct{ variable, name, prefix string }{
		{"AWS_CONFIG_FILE", "config", "profile "},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", ""},
	} {
		path := os.Getenv(file.variable)
		if path == "" && home == "" { // what is below the current directory may be anybody's
			continue
		}
		path = cmp.Or(path, filepath.Join(home, ".aws", file.name))
		if err := all.read(path, file.prefix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

// read adds the profiles of a file, whose sections but "default" have a prefix. Sections without it are
// of something else. Lines that are indented belong to a list.
func (p profiles) read(path, prefix string) error {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	var section Profile
	list := "" // the latest key, whose list may follow
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		indented := strings.ContainsRune(" \t", rune(lines.Text()[0]))
		if line[0] == '[' && !indented {
			name, _, _ := strings.Cut(line[1:], "]")
			name = strings.Join(strings.Fields(name), " ")
			short, found := strings.CutPrefix(name, prefix)
			section, list = nil, ""
			if found || name == "default" {
				short = strings.TrimSpace(short)
				if p[short] == nil {
					p[short] = Profile{}
				}
				section = p[short]
			}
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found || section == nil {
			continue
		}
		value, _, _ = strings.Cut(value, " #") // a comment
		value, _, _ = strings.Cut(value, " ;")
		if key = strings.ToLower(strings.TrimSpace(key)); indented {
			key = list + "." + key
		} else {
			list = key
		}
		section[key] = strings.TrimSpace(value)
	}
	return lines.Err()
}

// ReadProfile returns the profile of a name; an empty name stands for that of the environment, or
// "default". Only a profile that is named has to be there.
func ReadProfile(name string) (Profile, error) {
	all, err := readProfiles()
	if err != nil {
		return nil, err
	}
	return all.named(name)
}

func (p profiles) named(name string) (Profile, error) {
	name = cmp.Or(name, os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"))
	found := p[cmp.Or(name, "default")]
	if found == nil && name != "" {
		return nil, fmt.Errorf("there is no profile %q in the files of the AWS tools", name)
	}
	return found, nil
}
