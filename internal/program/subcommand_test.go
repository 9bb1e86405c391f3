package program_test

import (
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/program"
)

// TestSubcommands: the help names the commands, and each has a help of its own.
func TestSubcommands(t *testing.T) {
	t.Parallel()
	all := program.Subcommands{{Name: "listen", Args: "TOPIC", Help: "Listen, and record nothing", Detail: "For a while."}, {Name: "x", Help: "Do"}}
	const help = "Usage: gosample listen TOPIC\n\nListen, and record nothing.\n\nFor a while.\n"
	for args, want := range map[string]string{"listen --help": help, "listen /a -h": help, "listen /a": "", "--help": "", "/a --help listen": "", "": ""} {
		if got := all.Help("gosample", strings.Fields(args)); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	if got, want := all.List(), "\n\nCommands, as the first word:\n\n  listen TOPIC  Listen, and record nothing\n  x             Do\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
