package integration_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/bagdiff"
)

// TestBadInput checks that everything wrong on a command line gets one clear line
// and the exit code that scripts rely on.
func TestBadInput(t *testing.T) {
	t.Parallel()
	g := &graph{t: t, port: freePort(t), dir: t.TempDir()} // nothing gets as far as a master
	demo, err := os.ReadFile(demoBag(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"good.bag": demo, "text.bag": []byte("this is not a bag\n"), "empty.bag": nil,
		"v13.bag": []byte("#ROSBAG V1.3\n"), "exists.bag": []byte("precious"),
	} {
		if err := os.WriteFile(filepath.Join(g.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(g.dir, "dir.bag"), 0o700); err != nil {
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
		{"goplay good.bag --rate 0", 1, "--rate must be positive"},
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
			g := &graph{t: t, port: g.port, dir: g.dir}
			words := strings.Fields(tc.command)
			p := g.start(words[0], words[1:]...)
			if code := p.wait(); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			out := p.out.String()
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
		if b, err := os.ReadFile(filepath.Join(g.dir, "exists.bag")); err != nil || string(b) != "precious" {
			t.Error("exists.bag was changed")
		}
		left, err := filepath.Glob(filepath.Join(g.dir, "*.active"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

var optionsLine = regexp.MustCompile(`(?m)^.* INFO options \{.*\}\n`)

// TestNoMaster: recording without a master says so, keeps trying, and SIGINT ends
// it at once with a valid, empty bag.
func TestNoMaster(t *testing.T) {
	t.Parallel()
	g := &graph{t: t, port: freePort(t), dir: t.TempDir()}
	rec := g.start("gorecord", "-a", "-O", "out")
	rec.printed("Failed to contact master at [127.0.0.1:" + g.port + "].  Retrying...")
	g.kind = "gomaster"
	g.startMaster()
	rec.printed("Connected to master at [127.0.0.1:" + g.port + "]")
	f := g.flood("/late", 50)
	f.waitDone()
	rec.stop()
	if n := len(read(t, filepath.Join(g.dir, "out.bag"))["/late"].Messages); n != 50 {
		t.Errorf("%d of 50 messages after the master came", n)
	}
	alone := &graph{t: t, port: freePort(t), dir: t.TempDir()}
	rec = alone.start("gorecord", "-a", "-O", "out")
	rec.printed("Failed to contact master")
	rec.stop()
	read(t, filepath.Join(alone.dir, "out.bag"))
}

// TestHostilePublishers: each gets one clear line, and the other topic loses nothing.
func TestHostilePublishers(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	rec := g.record("-a", "-O", "out")
	good := g.flood("/good", 100)
	good.waitSent(1)
	header := tcpros.Header{
		{Key: "callerid", Value: "/bad"}, {Key: "md5sum", Value: strings.Repeat("0", 32)}, {Key: "type", Value: "a/B"},
	}
	g.register("/bad/nowhere", "/nowhere", "http://no-such-host.invalid:1234/")
	g.register("/bad/name", "/bad-name/image", "http://127.0.0.1:1/") // a name that ROS does not allow
	g.badPublisher("/refuses", tcpros.AppendHeader(nil, tcpros.Header{{Key: "error", Value: "you are not welcome"}}))
	g.badPublisher("/huge", append(tcpros.AppendHeader(nil, header), 0xff, 0xff, 0xff, 0xff))
	g.badPublisher("/garbage", []byte("\x08\x00\x00\x00\x04\x00\x00\x00abcd"))
	rec.printed("no-such-host.invalid")
	rec.printed("ROS_HOSTNAME")
	rec.printed("/bad-name/image")
	rec.printed("you are not welcome")
	rec.printed("/huge")
	rec.printed("4294967295")
	rec.printed("/garbage")
	good.waitDone()
	rec.signal(syscall.SIGINT)
	if code := rec.wait(); code != 3 || !strings.Contains(rec.out.String(), " oversize\n") {
		t.Errorf("exit code %d: the message of 4 GiB is a loss:\n%s", code, rec.out.String())
	}
	if n := len(read(t, filepath.Join(g.dir, "out.bag"))["/good"].Messages); n != 100 {
		t.Errorf("%d of 100 messages of the good publisher", n)
	}
	for _, topic := range []string{"/nowhere", "/refuses", "/huge", "/garbage"} {
		if n := strings.Count(rec.out.String(), `"topic": "`+topic+`"`); n > 4 { // that it is recorded, what is wrong, its first drops and that it is back
			t.Errorf("%d lines about %s:\n%s", n, topic, rec.out.String())
		}
	}
}

// register tells the master of a publisher with this slave URI.
func (g *graph) register(node, topic, uri string) {
	g.t.Helper()
	_, err := xmlrpc.Call(g.t.Context(), xmlrpc.NewHTTPClient(patience), g.uri(), "registerPublisher", node, topic, "a/B", uri)
	if err != nil {
		g.t.Fatal(err)
	}
}

// badPublisher answers every connection with the same bytes.
func (g *graph) badPublisher(topic string, answer []byte) {
	g.t.Helper()
	g.fakePublisher("/bad"+topic, topic, func(_ tcpros.Header, conn net.Conn) { conn.Write(answer) })
}

// TestSignalsTwice: the second signal does not spoil the bag.
func TestSignalsTwice(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	f := g.flood("/t", 100)
	rec := g.record("/t", "-O", "out", "--bz2")
	f.waitSent(20)
	rec.signal(syscall.SIGINT)
	rec.signal(syscall.SIGINT)
	if code := rec.wait(); code != 0 && code != 3 {
		t.Errorf("exit code %d:\n%s", code, rec.out.String())
	}
	read(t, filepath.Join(g.dir, "out.bag"))
}

// TestNohup: a SIGHUP that was ignored at the start, as nohup does, stays ignored. A
// SIGINT that was, as for every job that a script starts with &, does not.
func TestNohup(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	f := g.flood("/t", 60)
	cmd := g.command("/bin/sh", "-c", `trap "" HUP INT; exec "$0" /t -O out`, filepath.Join(bin, "gorecord"))
	rec := g.launch("gorecord", cmd)
	f.waitSent(10)
	rec.signal(syscall.SIGHUP)
	f.waitDone()
	rec.stop()
	if n := len(read(t, filepath.Join(g.dir, "out.bag"))["/t"].Messages); n != 60 {
		t.Errorf("%d of 60 messages", n)
	}
}

// TestDamagedIndex: what can be played is, and scripts hear of the damage.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	bag, err := os.ReadFile(demoBag(t))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(bag), "\x08\x00\x00\x00ver=\x01") // the first index record behind the first chunk
	if at < 0 {
		t.Fatal("no index record in the demo bag")
	}
	bag[at+8] = 7 // a version that nobody knows
	if err := os.WriteFile(filepath.Join(g.dir, "damaged.bag"), bag, 0o600); err != nil {
		t.Fatal(err)
	}
	rec := g.record("-a", "-O", "out")
	play := g.start("goplay", "damaged.bag", "--rate", "10", "--wait-for-subscribers")
	if code := play.wait(); code != 3 || !strings.Contains(play.out.String(), "1 damaged chunk indexes") {
		t.Errorf("exit code %d:\n%s", code, play.out.String())
	}
	rec.stop()
	r := bagdiff.Compare(read(t, demoBag(t)), read(t, filepath.Join(g.dir, "out.bag")))
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}
