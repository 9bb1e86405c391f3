package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/config/configtest"
)

// output runs the program and returns what it writes to standard output.
func output(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), runVariable+"=1", "COLUMNS=100", "ROS_MASTER_URI=http://127.0.0.1:11311", "GOPLAY_QUIET=true", "GOPLAY_TYPE=a/B\nc/*")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", args, err, exit.Stderr)
	}
	return string(out)
}

// TestPages compares the help, the manual page and the printed configuration.
func TestPages(t *testing.T) {
	t.Parallel()
	configtest.Golden(t, "testdata/help.txt", output(t, "--help"))
	configtest.Golden(t, "testdata/man.txt", output(t, "--man"))
	var all strings.Builder
	for _, args := range []string{
		"x.bag --print-config", "x.bag y.bag --print-config --loop --http=:0 --http-token=0123456789abcdef0123 --end @5 -s 1 -u 1m --embedded-master",
		"--config testdata/all.yaml --print-config",
	} {
		text := output(t, strings.Fields(args)...)
		fmt.Fprintf(&all, "goplay %s\n\n%s\n", args, text[:strings.LastIndex(text, "\n\n")+1]) // the rest is about names of ROS
	}
	configtest.Golden(t, "testdata/print.txt", all.String())
}

// TestAbbreviations compares what each abbreviation of each option means.
func TestAbbreviations(t *testing.T) {
	t.Parallel()
	names := configtest.Names(output(t, "--help"), "x.bag", list)
	configtest.Golden(t, "testdata/abbreviations.txt", names)
}

// TestMeanings compares what options set in the options of the player.
func TestMeanings(t *testing.T) {
	t.Parallel()
	bag := "../../bagfmt/testdata/cpp_lz4.bag"
	bags, err := open(t.Context(), new(strings.Builder), zap.NewNop(), []string{bag}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, args := range []string{
		"x.bag", "--topics /a b* --bags x.bag", "--type a/B -x /b --deny /c x.bag", "-e -x /b.* x.bag", "x.bag -s 1 -u 2", "x.bag --until 1", "x.bag -s 0.5 --end 1", "x.bag -s 2",
		"x.bag --order header --order-reach 5", "x.bag --rename /a=/b --rename /c=/d -p /x", "x.bag --deny /a", "x.bag --link-timeout 0 --wait-for-subscribers --wait-for /a --wait-timeout 5",
		"x.bag -d 1.5 --pause", "x.bag -r 2.5 -i -k --queue 0", "x.bag -l", "x.bag --loop=shift", "x.bag --skip-empty 2 --pause-topics /a /b --overflow block", "x.bag --overflow drop",
		"x.bag --stamps now --clock", "x.bag --stamps clock", "x.bag --clock --hz 10 --clock-topics /a --clock-topics b --clock-per-message",
		"x.bag --rate-control-topic /a --rate-control-max-delay 3", "x.bag -q", "--config testdata/all.yaml",
	} {
		s, _, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.options(bags, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		o.Bags, o.Log = nil, nil
		fmt.Fprintf(&b, "goplay %s\n%s", args, configtest.Fields(o))
	}
	configtest.Golden(t, "testdata/meanings.txt", b.String())
}

func TestReference(t *testing.T) {
	t.Parallel()
	p := new(settings).program()
	configtest.Reference(t, "../../docs/options.md", p)
	configtest.Variables(t, p)
}

// TestExample loads the file that is installed.
func TestExample(t *testing.T) {
	t.Parallel()
	configtest.Example(t, "../../packaging/goplay.yaml", nil, nil, list)
}

// list reads a command line and returns all settings.
func list(args []string) ([]config.Setting, error) {
	_, all, err := parse(args)
	return all.List(), err
}
