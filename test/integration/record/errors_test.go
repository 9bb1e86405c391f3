package record_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

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
	f := peers.NewFlood(g, "/late", 50)
	f.WaitDone()
	rec.Stop()
	if n := len(bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/late"].Messages); n != 50 {
		t.Errorf("%d of 50 messages after the master came", n)
	}
	alone := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()}
	rec = alone.Start("gorecord", "-a", "-O", "out")
	rec.Printed("Failed to contact master")
	rec.Signal(syscall.SIGINT)
	rec.Ended(3,
		`the master never answered: no topic could be recorded {"master": "http://127.0.0.1:`+alone.Port+`"}`,
		"lost: unknown, for the master never answered",
		"gorecord: the master never answered; see the summary",
	)
	bags.Read(t, filepath.Join(alone.Dir, "out.bag"))
}

// TestHostilePublishers: the log has one clear line for each hostile publisher, and the topic of the
// good publisher loses nothing.
func TestHostilePublishers(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("-a", "-O", "out")
	start := time.Now()
	good := peers.NewFlood(g, "/good", 100)
	good.WaitSent(1)
	header := tcpros.Header{
		{Key: "callerid", Value: "/bad"}, {Key: "md5sum", Value: strings.Repeat("0", 32)}, {Key: "type", Value: "a/B"},
	}
	peers.Register(g, "/bad/nowhere", "/nowhere", "http://no-such-host.invalid:1234/")
	peers.Register(g, "/bad/name", "/bad-name/image", "http://127.0.0.1:1/") // a name that ROS does not allow
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
	if n := len(bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/good"].Messages); n != 100 {
		t.Errorf("%d of 100 messages of the good publisher", n)
	}
	for _, topic := range []string{"/nowhere", "/refuses", "/huge", "/garbage"} {
		again := 3 * int(time.Since(start)/(10*time.Second))                           // what goes on is said again every ten seconds
		if n := strings.Count(rec.Out.String(), `"topic": "`+topic+`"`); n > 6+again { // that it is recorded, that its definition is not usable, what is wrong (at the end again, with a count), its first drops and its links
			t.Errorf("%d lines about %s:\n%s", n, topic, rec.Out.String())
		}
	}
}

// badPublisher answers every connection with the same bytes.
func badPublisher(g *harness.Graph, topic string, answer []byte) {
	g.T.Helper()
	peers.FakePublisher(g, "/bad"+topic, topic, func(_ tcpros.Header, conn net.Conn) { conn.Write(answer) })
}

// TestSignalTwiceAtOnce: two signals within a second, as of timeout(1) and of supervisors
// that signal a process and its group, are one request: what is queued is written.
func TestSignalTwiceAtOnce(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 2000)
	rec := g.Record("/t", "-O", "out", "--bz2", "--overflow=block", "--flush-interval=10s") // the last chunk is queued at the end
	f.WaitSent(150)
	rec.Signal(syscall.SIGSTOP) // both wait for it then, however slow this test is
	rec.Signal(syscall.SIGINT)
	rec.Signal(syscall.SIGTERM)
	rec.Signal(syscall.SIGCONT)
	if code := rec.Wait(); code != 0 || strings.Contains(rec.Out.String(), "hurried_end") {
		t.Errorf("exit code %d:\n%s", code, rec.Out.String())
	}
	bags.Read(t, filepath.Join(g.Dir, "out.bag"))
}

// TestSignalsTwice: a second signal does not damage the bag.
func TestSignalsTwice(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100)
	rec := g.Record("/t", "-O", "out", "--bz2")
	f.WaitSent(20)
	rec.Signal(syscall.SIGINT)
	<-time.After(program.RequestWindow + 100*time.Millisecond)
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 0 && code != 3 {
		t.Errorf("exit code %d:\n%s", code, rec.Out.String())
	}
	bags.Read(t, filepath.Join(g.Dir, "out.bag"))
}

// TestNohup: a SIGHUP that was ignored at the start, as nohup does, stays ignored. A
// SIGINT that was, as for every job that a script starts with &, does not.
func TestNohup(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 60)
	cmd := g.Command("/bin/sh", "-c", `trap "" HUP INT; exec "$0" /t -O out`, filepath.Join(harness.Bin(), "gorecord"))
	rec := g.Launch("gorecord", cmd)
	f.WaitSent(10)
	rec.Signal(syscall.SIGHUP)
	f.WaitDone()
	rec.Stop()
	if n := len(bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/t"].Messages); n != 60 {
		t.Errorf("%d of 60 messages", n)
	}
}

// TestDamagedIndex: goplay plays all messages that it can read, and its exit code reports the damage.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bag, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(bag), "\x08\x00\x00\x00ver=\x01") // the first index record after the first chunk
	if at < 0 {
		t.Fatal("no index record in the demo bag")
	}
	bag[at+8] = 7 // a version that nobody knows
	if err := os.WriteFile(filepath.Join(g.Dir, "damaged.bag"), bag, 0o600); err != nil {
		t.Fatal(err)
	}
	rec := g.Record("-a", "-x", "/rosout", "-O", "out")
	play := g.Start("goplay", "damaged.bag", "--rate", "10", "--wait-for-subscribers", "--overflow", "block")
	if code := play.Wait(); code != 3 || !strings.Contains(play.Out.String(), "damaged indexes, rebuilt in 1 chunk") {
		t.Errorf("exit code %d:\n%s", code, play.Out.String())
	}
	rec.Stop()
	bags.Same(t, bags.Demo(t), filepath.Join(g.Dir, "out.bag"))
}
