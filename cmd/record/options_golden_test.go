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
	cmd.Env = append(os.Environ(), runVariable+"=1", "COLUMNS=100", "ROS_MASTER_URI=http://127.0.0.1:11311", "GORECORD_QUIET=true", "GORECORD_TYPE=a/B\nc/*")
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
		"-a --print-config", "/a /b --print-config --split --http=:0 --http-token=0123456789abcdef0123 --snapshot-beside --embedded-master",
		"--config testdata/all.yaml --print-config",
	} {
		text := output(t, strings.Fields(args)...)
		fmt.Fprintf(&all, "gorecord %s\n\n%s\n", args, text[:strings.LastIndex(text, "\n\n")+1]) // the rest is about names of ROS
	}
	configtest.Golden(t, "testdata/print.txt", all.String())
}

// TestAbbreviations compares what each abbreviation of each option means.
func TestAbbreviations(t *testing.T) {
	t.Parallel()
	names := configtest.Names(output(t, "--help"), "/t", list)
	configtest.Golden(t, "testdata/abbreviations.txt", names)
}

// TestMeanings compares what options set in the options of the recorder.
func TestMeanings(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, args := range []string{
		"-a", "/a b* --topic /c", "-e /a.* -x /ab", "-x /a", "--type a/B --node /n --node-publications /m", "-a --params --summary always", "-a --summary never",
		"/t -l 3", "-a --max-rate /b=2.5 --max-rate /abc=1 --every /c=3 --count /d=9", "-a -o x", "-a -O x", "-a --name-template x_%Y --file-mode 0644",
		"-a --split --size 10", "-a --split=7", "--split 7 /t", "-a --size 5", "-a --split --duration 1.5m", "-a --split-at 10m", "-a --repeat-latched", "-a --no-repeat-latched",
		"-a --min-space 5k", "-a --min-space 0", "-a --split --max-splits 3 --max-bytes 20G --max-age 10h --keep-free 500M", "-a --max-splits 3", "-a --recover",
		"-a -j --adaptive", "-a --lz4", "-a --chunksize 0", "-a --chunksize 10", "-a -b 0", "-a -b 7", "-a --overflow block", "-a --flush-interval 20ms", "-a --sync none", "-a --sync chunk",
		"-a --snapshot --pre-roll 5 --post-roll 1m --snapshot-bytes 10M", "-a --snapshot-beside", "-a --paused", "-a --stopped", "-a --start-on topic=='/a'",
		"-a -p --tcpnodelay --udp", "-a -q", "--config testdata/all.yaml",
	} {
		s, _, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		o := s.options(zap.NewNop())
		o.Log, o.Control = nil, nil
		fmt.Fprintf(&b, "gorecord %s\n%s", args, configtest.Fields(o))
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
	against := map[string]string{"topics": "all", "output_prefix": "name_template"}
	configtest.Example(t, "../../packaging/gorecord.yaml", against, map[string]string{"pre_roll": "snapshot_beside"}, list)
}

// list reads a command line and returns all settings.
func list(args []string) ([]config.Setting, error) {
	_, all, err := parse(args)
	return all.List(), err
}
