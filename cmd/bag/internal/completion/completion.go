// Package completion completes the arguments of gobag in a shell: the command gobag completion, and the
// answers to a shell that asks. It reads the bags that are on the command line, and writes no errors,
// which a shell would not show.
package completion

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Flags are those of the command.
type Flags struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the long help.
func (Flags) Help() string {
	return `For this shell only:

  bash:  source <(gobag completion bash)
  zsh:   source <(gobag completion zsh)
  fish:  gobag completion fish | source

For all: put that line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.`
}

// Run prints what makes a shell ask this program for completions.
func (f *Flags) Run(out job.Output) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the path of this program is not known: %w", err)
	}
	quoted := "'" + strings.ReplaceAll(self, "'", `'\''`) + "'"
	line := "complete -o default -o bashdefault -C " + quoted + " gobag\n"
	switch f.Shell {
	case "zsh":
		line = "autoload -U +X bashcompinit && bashcompinit\n" + line
	case "fish":
		line = "function __complete_gobag\n" +
			"    set -lx COMP_LINE (commandline -cp)\n" +
			"    test -z (commandline -ct); and set COMP_LINE \"$COMP_LINE \"\n" +
			"    " + quoted + "\n" +
			"end\n" +
			"complete -c gobag -a '(__complete_gobag)'\n"
	}
	_, err = fmt.Fprint(out.Stdout, line)
	return err
}

// Answers answers a shell that asks for completions, which it does through the
// environment, and reports whether one did.
func Answers(parser *kong.Kong) bool {
	asked := false
	kongcompletion.Register(parser,
		kongcompletion.WithPredictors(map[string]complete.Predictor{
			"bag": pathsLike(func(name string) bool {
				return bags.HasBagEnding(name) ||
					strings.HasSuffix(name, ".active")
			}),
			"file":  pathsLike(func(string) bool { return true }),
			"dir":   pathsLike(func(string) bool { return false }),
			"topic": fromBags(func(c *rosbag.Connection) string { return c.Topic }),
			"type":  fromBags(func(c *rosbag.Connection) string { return c.Header.Type() }),
		}),
		kongcompletion.WithExitFunc(func(int) { asked = true }),
	)
	return asked
}

// pathsLike completes with directories, and the files whose names are wanted.
func pathsLike(want func(name string) bool) complete.Predictor {
	return complete.PredictFunc(func(a complete.Args) []string {
		dir, start := filepath.Split(a.Last)
		entries, err := os.ReadDir(cmp.Or(dir, "."))
		if err != nil {
			return nil // a shell shows no errors
		}
		var list []string
		for _, e := range entries {
			name := e.Name()
			if !strings.HasPrefix(name, start) || start == "" && name[0] == '.' {
				continue
			}
			if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.IsDir() { // also through a link
				list = append(list, dir+name+"/")
			} else if want(name) {
				list = append(list, dir+name)
			}
		}
		return list
	})
}

// fromBags completes with what is in the connections of the bags on the command
// line.
func fromBags(name func(*rosbag.Connection) string) complete.Predictor {
	return complete.PredictFunc(func(a complete.Args) []string {
		var names []string
		for _, arg := range a.All {
			if !bags.HasBagEnding(arg) || store.IsURL(arg) {
				continue
			}
			b, err := bags.Open(context.Background(), arg, bags.Options{})
			if err != nil {
				continue // a shell shows no errors
			}
			for _, c := range b.Connections() {
				if n := wording.Shown(name(c)); !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
			_ = b.Close() // only read from
		}
		return names
	})
}
