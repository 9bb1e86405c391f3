package record_test

import (
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// slack is added to the times within which something has to be found: tests share the processors.
const slack = 1500 * time.Millisecond

// logTime is the time of a log line.
var logTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) `)

// said returns when the program logged a line with these texts.
func said(t *testing.T, p *harness.Process, texts ...string) time.Time {
	t.Helper()
	for line := range strings.Lines(p.Out.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if m := logTime.FindStringSubmatch(line); all && m != nil {
			at, err := time.ParseInLocation("2006-01-02 15:04:05.000", m[1], time.Local)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
	}
	t.Fatalf("no line with %q in\n%s", texts, p.Out.String())
	return time.Time{}
}

// phase returns when a phase of driver.py began.
func phase(t *testing.T, p *harness.Process, n int) time.Time {
	t.Helper()
	p.Printed("phase " + strconv.Itoa(n) + " at ")
	m := regexp.MustCompile(`phase ` + strconv.Itoa(n) + ` at (\d+\.\d+)`).FindStringSubmatch(p.Out.String())
	if m == nil {
		t.Fatal(p.Out.String())
	}
	seconds, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(int64(1000 * seconds))
}

// within checks that something was found, or was over, in time.
func within(t *testing.T, what string, from, at time.Time, most time.Duration) {
	t.Helper()
	if took := at.Sub(from); took < 0 || took > most+slack {
		t.Errorf("%s: told after %v, want within %v", what, took, most)
	}
}

// TestFindingsOfPythonNodes: sensors that are slowed, or get wrong stamps, and are put right, and one that is killed.
func TestFindingsOfPythonNodes(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for half a minute")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	rec := g.Record("-a", "-O", "out", "--no-screen")
	slow := g.StartPython("driver.py", "slow", "/slow", "50,0,9", "20,0,13", "50,0,0")
	stamps := g.StartPython("driver.py", "stamps", "/stamps", "50,0,9", "50,3600,9", "50,0,0")
	killed := g.StartPython("driver.py", "killed", "/killed", "50,0,0")
	good := g.StartPython("driver.py", "good", "/good", "20,0,0")
	phase(t, good, 0)
	phase(t, stamps, 1)
	killed.Signal(syscall.SIGKILL)
	end := time.Now()
	rec.Printed(`a topic is silent {"topic": "/killed", "what": "for `)
	within(t, "killed", end, said(t, rec, "a topic is silent", "/killed", "publisher gone"), 3*time.Second)
	rec.Printed("the stamps of a topic are off")
	within(t, "wrong stamps", phase(t, stamps, 1), said(t, rec, "the stamps of a topic are off", "/stamps", "1 h behind"), 3*time.Second)
	rec.Printed(`a topic is well again {"topic": "/stamps"`)
	within(t, "stamps put right", phase(t, stamps, 2), said(t, rec, "a topic is well again", "/stamps"), 2*time.Second)
	rec.Printed(`a topic is slow {"topic": "/slow"`)
	within(t, "slow", phase(t, slow, 1), said(t, rec, "a topic is slow", "/slow"), 11*time.Second)
	rec.Printed(`a topic is well again {"topic": "/slow"`)
	within(t, "fast again", phase(t, slow, 2), said(t, rec, "a topic is well again", "/slow"), 2*time.Second)
	rec.Signal(syscall.SIGINT)
	rec.Wait()
	if strings.Contains(rec.Out.String(), `{"topic": "/good", "what"`) {
		t.Errorf("a finding about the good topic:\n%s", rec.Out.String())
	}
	harness.Contains(t, rec.Out.String(), "silent: /killed (1 time, ", ", until the end)", "slow: /slow (1 time, ", "stamps off: /stamps (1 time, ")
	checkMarks(t, g, "silent /killed", "stamps off /stamps: 1 h behind", "stamps off /stamps is over after ", "slow /slow: ", "slow /slow is over after ")
}

// TestFindingsWithoutAnswer: a master that does not answer whether publishers with wrong stamps are players delays no other
// finding.
func TestFindingsWithoutAnswer(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for twenty seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("-a", "-O", "out", "--no-screen")
	killed := g.StartPython("driver.py", "killed", "/killed", "20,0,0")
	var off []*harness.Process
	for _, name := range []string{"a", "b", "c"} {
		off = append(off, g.StartPython("driver.py", name, "/off/"+name, "20,0,9", "20,3600,0"))
	}
	for _, p := range off {
		phase(t, p, 1)
	}
	g.Core.Signal(syscall.SIGSTOP)
	killed.Signal(syscall.SIGKILL)
	end := time.Now()
	for _, topic := range []string{"/killed", "/off/a", "/off/b", "/off/c"} {
		rec.Printed(`{"topic": "` + topic + `", "what": "`)
	}
	within(t, "killed", end, said(t, rec, "a topic is silent", "/killed", "publisher gone"), 3*time.Second)
	within(t, "all questions together", end, said(t, rec, "the stamps of a topic are off", "/off/c", "1 h behind"), 6*time.Second)
	g.Core.Signal(syscall.SIGCONT)
	rec.Signal(syscall.SIGINT)
	rec.Wait()
	checkMarks(t, g, "silent /killed", "stamps off /off/a: ", "stamps off /off/b: ", "stamps off /off/c: ")
}

// TestFindingsOfRoscppNodes: a node in C++ that is stopped, goes on, and is killed. What it plays is of another time, and
// its stamps are no finding.
func TestFindingsOfRoscppNodes(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs a node in C++ for twenty seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	rec := g.Record("/imu/data", "/map", "-O", "out", "--no-screen")
	player := g.Start(harness.StockPlay, bags.Demo(t), "--loop", "--quiet", "__name:=driver")
	g.Eventually("seven seconds are recorded", func() bool { return len(soFar(g, "out.bag")["/imu/data"]) > 700 })
	player.Signal(syscall.SIGSTOP)
	stopped := time.Now()
	rec.Printed(`a topic is silent {"topic": "/imu/data"`)
	player.Signal(syscall.SIGCONT)
	going := time.Now()
	within(t, "stopped", stopped, said(t, rec, "a topic is silent", "/imu/data", "publisher there but mute"), 3*time.Second)
	rec.Printed(`a topic is well again {"topic": "/imu/data"`)
	within(t, "goes on", going, said(t, rec, "a topic is well again", "/imu/data"), 2*time.Second)
	rec.Signal(syscall.SIGINT)
	rec.Wait()
	for _, no := range []string{"stamps", "/map\", \"what"} {
		if strings.Contains(rec.Out.String(), no) {
			t.Errorf("a finding about %s:\n%s", no, rec.Out.String())
		}
	}
	checkMarks(t, g, "silent /imu/data", "silent /imu/data is over after ")
}

// checkMarks checks that the bag has marks that begin with these texts, and no others.
func checkMarks(t *testing.T, g *harness.Graph, texts ...string) {
	t.Helper()
	found := bags.Read(t, filepath.Join(g.Dir, "out.bag"))[note.MarksTopic]
	if found == nil {
		t.Error("no marks in the bag")
		return
	}
	var marks []string
	for _, m := range found.Messages {
		text, _ := note.Decode(m.Data)
		marks = append(marks, text)
	}
	for _, text := range texts {
		if !strings.Contains("\n"+strings.Join(marks, "\n"), "\n"+text) {
			t.Errorf("no mark %q among %q", text, marks)
		}
	}
	if len(marks) != len(texts) {
		t.Errorf("marks %q, want %q", marks, texts)
	}
}

// TestNoFalseFindings: a recorder that is paused, split, stopped by a signal and ends says nothing, nor does one of the
// demo bag in a loop.
func TestNoFalseFindings(t *testing.T) {
	t.Parallel()
	harness.Long(t, "plays a bag for half a minute")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	g.Start("goplay", bags.Demo(t), "--loop", "--no-screen")
	rec := g.Record("-a", "-O", "out", "--split", "--no-screen", "__name:=rec")
	g.Eventually("eight seconds are recorded", func() bool { return len(soFar(g, "out_0.bag")["/imu/data"]) > 800 })
	for _, service := range []string{"pause", "resume", "split"} {
		g.Call("/rec/" + service)
	}
	rec.Signal(syscall.SIGSTOP)
	begun := time.Now()
	g.Eventually("four seconds have passed", func() bool { return time.Since(begun) > 4*time.Second })
	rec.Signal(syscall.SIGCONT)
	g.Eventually("eight more seconds are recorded", func() bool { return len(soFar(g, "out_1.bag")["/imu/data"]) > 800 })
	rec.Signal(syscall.SIGINT)
	rec.Wait()
	for _, word := range []string{"silent", "slow", "stamps"} {
		if strings.Contains(rec.Out.String(), word) {
			t.Errorf("%s:\n%s", word, rec.Out.String())
		}
	}
}

// TestPreflight: the exit code says whether all is as expected, with the leading slash or without. Nothing is recorded.
func TestPreflight(t *testing.T) {
	t.Parallel()
	harness.Long(t, "listens for ten seconds, twice")
	g := harness.NewGraph(t, "gomaster")
	peers.NewFlood(g, "/t", 1000)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	page := taken.Addr().String()
	good := g.Start("gorecord", "preflight", "t", "--expect", "/t=5", "--http", "127.0.0.1:0")
	bad := g.Start("gorecord", "preflight", "/other", "/never", "/cam/*", "--expect", "/never=1", "--expect", "/cam/*=1", "--upload", "file:///no/such/directory", "-O", "nowhere/run", "--http", page)
	good.Ended(0, "verdict", "ok", "disk:", "buffer:", "whose clock agrees with ours", "ready")
	bad.Ended(1, "! no publisher", "! no such topic", "bag:     ! cannot open nowhere/run.bag.active: directory nowhere/ does not exist", "disk:    free", "http://", "store:   ! file:///no/such/directory", "page:    ! --http "+page+": ", "not ready")
	if bags, err := filepath.Glob(filepath.Join(g.Dir, "*.bag*")); err != nil || len(bags) > 0 {
		t.Errorf("%q were recorded (%v)", bags, err)
	}
}

// TestExpectations: a topic that never appears makes the exit code 3, with its name; so does one that is too slow, but none
// that a glob means under the name that it has in the graph. The summary tells it as a table, or as JSON.
func TestExpectations(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for format, want := range map[string][]string{
		"text": {"silent: /never (1 time, ", "against --expect"},
		"json": {`{"file":"json.bag","files":[{"file":"json.bag",`, `"episodes":[{"topic":"/never","kind":"silent","episodes":1,"seconds":`, `"open":false,"unmet":true,"untold":0}]`},
	} {
		topic := "/" + format
		rec := g.Record(format, "/never", "-O", format, "--no-screen", "--expect", "/never=1", "--expect", topic[:3]+"*=5", "--log-format", format)
		peers.NewFlood(g, topic, 1000).WaitSent(5)
		rec.Signal(syscall.SIGINT)
		rec.Ended(3, append(want, "expectations were not met: /never (silent); see the summary")...)
	}
}
