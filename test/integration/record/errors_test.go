package record_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestBadInput checks that everything wrong on a command line gets one clear line
// and the exit code that scripts rely on.
func TestBadInput(t *testing.T) {
	t.Parallel()
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()} // nothing gets as far as a master
	demo, err := os.ReadFile(harness.DemoBag(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"good.bag": demo, "text.bag": []byte("this is not a bag\n"), "empty.bag": nil,
		"v13.bag": []byte("#ROSBAG V1.3\n"), "exists.bag": []byte("precious"),
	} {
		if err := os.WriteFile(filepath.Join(g.Dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(g.Dir, "dir.bag"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		command string
		code    int
		want    string
	}{
		{"goplay text.bag", 1, "text.bag: bagfmt: not a bag"},
		{"goplay empty.bag", 1, "empty.bag: bagfmt: not a bag: empty file"},
		{"goplay v13.bag", 1, "v13.bag: bagfmt: bag version 1.3, which was never released"},
		{"goplay missing.bag", 1, "missing.bag: no such file"},
		{"goplay dir.bag", 1, "dir.bag: not a regular file"},
		{"goplay", 1, "You must specify at least one bag to play back."},
		{"goplay good.bag --rate 0", 1, "--rate must be between 1e-06 and 1e+09"},
		{"goplay good.bag --rate x", 1, "--rate"},
		{"goplay good.bag --bogus", 1, "unrecognised option '--bogus'"},
		{"goplay --topics /nope good.bag", 1, "When using --topics, --bags should be specified to list bags."},
		{"gobag info text.bag", 1, "text.bag: not a bag"},
		{"gobag info empty.bag", 1, "empty.bag: not a bag: empty file"},
		{"gobag info v13.bag", 1, "v13.bag: is a bag version 1.3, which was never released"},
		{"gobag info missing.bag", 1, "missing.bag: no such file"},
		{"gobag info dir.bag", 1, "dir.bag: no bags in this directory"},
		{"gorecord", 1, "No topics specified."},
		{"gorecord -a -O exists", 1, "exists.bag exists: a recording never overwrites"},
		{"gorecord -a -O none/x", 1, "directory none/ does not exist: create it first"},
		{"gorecord -a -e (", 1, `topic regex "(": error parsing regexp: missing closing )`},
		{"gorecord -a -x (", 1, `exclude regex "("`},
		{"gorecord -a --chunksize x", 1, "--chunksize"},
		{"gorecord -a -b -1", 1, "Buffer size must be 0 or positive"},
		{"gorecord -a --duration 5x", 1, "Duration unit must be s, m, or h"},
		{"gorecord -a -l 3", 1, "Specifying a count is not valid with automatic topic subscription."},
		{"gorecord -a -j --lz4", 1, "Can only use one type of compression"},
		{"gorecord 9lives", 1, `name "9lives"`},
		{"gorecord -a --node 9lives", 1, `name "9lives"`},
		{"gorecord -a __master:=foo", 1, `master URI "foo"`},
		{"gomaster -p 99999", 1, "port 99999 is out of range"},
	}
	for _, tc := range tests {
		t.Run(tc.command, func(t *testing.T) {
			t.Parallel()
			g := &harness.Graph{T: t, Port: g.Port, Dir: g.Dir}
			words := strings.Fields(tc.command)
			p := g.Start(words[0], words[1:]...)
			if code := p.Wait(); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			out := p.Out.String()
			if !strings.Contains(out, tc.want) {
				t.Errorf("no %q in:\n%s", tc.want, out)
			}
			out = optionsLine.ReplaceAllString(out, "") // what was asked for is logged whatever comes of it
			if strings.Contains(out, "panic") || strings.Contains(out, "goroutine") || strings.Count(out, "\n") > 2 {
				t.Errorf("not one clear line:\n%s", out)
			}
		})
	}
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(g.Dir, "exists.bag")); err != nil || string(b) != "precious" {
			t.Error("exists.bag was changed")
		}
		left, err := filepath.Glob(filepath.Join(g.Dir, "*.active"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestControlCharactersInFileNames: a name that a terminal or a script would misread is refused,
// and no file has it.
func TestControlCharactersInFileNames(t *testing.T) {
	t.Parallel()
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()} // nothing gets as far as a master
	for _, option := range []string{"-O", "-o", "--name-template"} {
		for _, c := range []string{"\t", "\x07", "\x1b[2J", "\x7f", "\u0085", "\n", "\r"} {
			p := g.Start("gorecord", "-a", option, "a"+c+"b", "--size", "1") // a template needs --split or --size
			p.Ended(1, "control character")
		}
	}
	if left, err := os.ReadDir(g.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

var optionsLine = regexp.MustCompile(`(?m)^.* INFO options \{.*\}\n`)

// TestNoMaster: recording without a master says so, keeps trying, and SIGINT ends
// it at once with a valid, empty bag.
func TestNoMaster(t *testing.T) {
	t.Parallel()
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()}
	rec := g.Start("gorecord", "-a", "-O", "out")
	rec.Printed("Failed to contact master at [127.0.0.1:" + g.Port + "].  Retrying...")
	g.Kind = "gomaster"
	g.StartMaster()
	rec.Printed("Connected to master at [127.0.0.1:" + g.Port + "]")
	f := g.Flood("/late", 50)
	f.WaitDone()
	rec.Stop()
	if n := len(harness.Read(t, filepath.Join(g.Dir, "out.bag"))["/late"].Messages); n != 50 {
		t.Errorf("%d of 50 messages after the master came", n)
	}
	alone := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()}
	rec = alone.Start("gorecord", "-a", "-O", "out")
	rec.Printed("Failed to contact master")
	rec.Stop()
	harness.Read(t, filepath.Join(alone.Dir, "out.bag"))
}

// TestHostilePublishers: each gets one clear line, and the other topic loses nothing.
func TestHostilePublishers(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("-a", "-O", "out")
	start := time.Now()
	good := g.Flood("/good", 100)
	good.WaitSent(1)
	header := tcpros.Header{
		{Key: "callerid", Value: "/bad"}, {Key: "md5sum", Value: strings.Repeat("0", 32)}, {Key: "type", Value: "a/B"},
	}
	g.Register("/bad/nowhere", "/nowhere", "http://no-such-host.invalid:1234/")
	g.Register("/bad/name", "/bad-name/image", "http://127.0.0.1:1/") // a name that ROS does not allow
	badPublisher(g, "/refuses", tcpros.AppendHeader(nil, tcpros.Header{{Key: "error", Value: "you are not welcome"}}))
	badPublisher(g, "/huge", append(tcpros.AppendHeader(nil, header), 0xff, 0xff, 0xff, 0xff))
	badPublisher(g, "/garbage", []byte("\x08\x00\x00\x00\x04\x00\x00\x00abcd"))
	rec.Printed("no-such-host.invalid")
	rec.Printed("ROS_HOSTNAME")
	rec.Printed("/bad-name/image")
	rec.Printed("you are not welcome")
	rec.Printed("/huge")
	rec.Printed("4294967295")
	rec.Printed("/garbage")
	good.WaitDone()
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 3 || !strings.Contains(rec.Out.String(), " oversize\n") {
		t.Errorf("exit code %d: the message of 4 GiB is a loss:\n%s", code, rec.Out.String())
	}
	if n := len(harness.Read(t, filepath.Join(g.Dir, "out.bag"))["/good"].Messages); n != 100 {
		t.Errorf("%d of 100 messages of the good publisher", n)
	}
	for _, topic := range []string{"/nowhere", "/refuses", "/huge", "/garbage"} {
		again := 3 * int(time.Since(start)/(10*time.Second))                           // what goes on is said again every ten seconds
		if n := strings.Count(rec.Out.String(), `"topic": "`+topic+`"`); n > 5+again { // that it is recorded, what is wrong (at the end again, with a count), its first drops and its links
			t.Errorf("%d lines about %s:\n%s", n, topic, rec.Out.String())
		}
	}
}

// badPublisher answers every connection with the same bytes.
func badPublisher(g *harness.Graph, topic string, answer []byte) {
	g.T.Helper()
	g.FakePublisher("/bad"+topic, topic, func(_ tcpros.Header, conn net.Conn) { conn.Write(answer) })
}

// TestSignalTwiceAtOnce: two signals within a second, as of timeout(1) and of supervisors
// that signal a process and its group, are one request: what is queued is written.
func TestSignalTwiceAtOnce(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := g.Flood("/t", 2000)
	rec := g.Record("/t", "-O", "out", "--bz2", "--overflow=block", "--flush-interval=10s") // the last chunk is queued at the end
	f.WaitSent(150)
	rec.Signal(syscall.SIGSTOP) // both wait for it then, however slow this test is
	rec.Signal(syscall.SIGINT)
	rec.Signal(syscall.SIGTERM)
	rec.Signal(syscall.SIGCONT)
	if code := rec.Wait(); code != 0 || strings.Contains(rec.Out.String(), "hurried_end") {
		t.Errorf("exit code %d:\n%s", code, rec.Out.String())
	}
	harness.Read(t, filepath.Join(g.Dir, "out.bag"))
}

// TestSignalsTwice: the second request does not spoil the bag.
func TestSignalsTwice(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := g.Flood("/t", 100)
	rec := g.Record("/t", "-O", "out", "--bz2")
	f.WaitSent(20)
	rec.Signal(syscall.SIGINT)
	<-time.After(program.RequestWindow + 100*time.Millisecond)
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 0 && code != 3 {
		t.Errorf("exit code %d:\n%s", code, rec.Out.String())
	}
	harness.Read(t, filepath.Join(g.Dir, "out.bag"))
}

// TestNohup: a SIGHUP that was ignored at the start, as nohup does, stays ignored. A
// SIGINT that was, as for every job that a script starts with &, does not.
func TestNohup(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := g.Flood("/t", 60)
	cmd := g.Command("/bin/sh", "-c", `trap "" HUP INT; exec "$0" /t -O out`, filepath.Join(harness.Bin(), "gorecord"))
	rec := g.Launch("gorecord", cmd)
	f.WaitSent(10)
	rec.Signal(syscall.SIGHUP)
	f.WaitDone()
	rec.Stop()
	if n := len(harness.Read(t, filepath.Join(g.Dir, "out.bag"))["/t"].Messages); n != 60 {
		t.Errorf("%d of 60 messages", n)
	}
}

// TestDamagedIndex: what can be played is, and scripts hear of the damage.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bag, err := os.ReadFile(harness.DemoBag(t))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(bag), "\x08\x00\x00\x00ver=\x01") // the first index record behind the first chunk
	if at < 0 {
		t.Fatal("no index record in the demo bag")
	}
	bag[at+8] = 7 // a version that nobody knows
	if err := os.WriteFile(filepath.Join(g.Dir, "damaged.bag"), bag, 0o600); err != nil {
		t.Fatal(err)
	}
	rec := g.Record("-a", "-O", "out")
	play := g.Start("goplay", "damaged.bag", "--rate", "10", "--wait-for-subscribers", "--overflow", "block")
	if code := play.Wait(); code != 3 || !strings.Contains(play.Out.String(), "1 damaged chunk indexes") {
		t.Errorf("exit code %d:\n%s", code, play.Out.String())
	}
	rec.Stop()
	harness.Same(t, harness.DemoBag(t), filepath.Join(g.Dir, "out.bag"))
}
