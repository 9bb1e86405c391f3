package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/config"
)

// outcommented matches the first line of an option that an example file only proposes.
var outcommented = regexp.MustCompile(`^#([a-z0-9_]+):`)

// TestExampleFiles loads the files that are installed, as they are, and with each of
// the options that they only propose.
func TestExampleFiles(t *testing.T) {
	t.Parallel()
	for path, parse := range map[string]func(file string) (config.Common, error){
		"../packaging/gorecord.yaml": func(file string) (config.Common, error) {
			r, err := parseRecord("--config", file)
			return r.Common, err
		},
		"../packaging/goplay.yaml": func(file string) (config.Common, error) {
			var p config.Play
			err := config.Parse("goplay", config.PlayHelp, "test", []string{"--config", file}, &p, config.PlayMultitoken...)
			return p.Common, err
		},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parse(path)
		if err != nil {
			t.Fatal(err)
		}
		set := 0
		for _, s := range c.Settings() {
			if strings.HasPrefix(s.Origin, path) {
				set++
			}
		}
		lines := strings.Split(string(text), "\n")
		proposed := 0
		for i, line := range lines {
			key := outcommented.FindStringSubmatch(line)
			if key == nil {
				continue
			}
			proposed++
			got, err := parse(writeConfig(t, proposing(lines, i, key[1])))
			if err != nil {
				t.Errorf("%s:%d: %v", path, i+1, err)
				continue
			}
			for _, s := range got.Settings() {
				if s.Key == key[1] && (s.Default() || len(s.Values) == 0) {
					t.Errorf("%s:%d: %s has no effect", path, i+1, s.Key)
				}
			}
		}
		if set < 8 || proposed < 8 {
			t.Errorf("%s: %d options set, %d proposed: this test looks in the wrong place", path, set, proposed)
		}
	}
}

// proposing returns the lines with the proposal in force that begins at line at, and
// what stands against it out of force.
func proposing(lines []string, at int, key string) string {
	against := map[string]string{"topics": "all:", "output_prefix": "name_template:"}[key]
	needs := map[string]string{"pre_roll": "#snapshot_beside:"}[key]
	var out []string
	for i, line := range lines {
		switch {
		case i == at, i == at+1 && strings.HasPrefix(line, "#  "), needs != "" && strings.HasPrefix(line, needs):
			line = line[1:]
		case against != "" && strings.HasPrefix(line, against):
			line = ""
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
