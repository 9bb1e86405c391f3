package service_test

import (
	"crypto/sha256"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
)

// uploadMB is how many MB TestUploadKilledTwice records in ten files: a file has four parts, more than
// are under way at a time.
const uploadMB = 320

// camera publishes count messages of 1 MB, hundred a second at most.
func camera(g *harness.Graph, topic string, count int) (done <-chan error) {
	g.T.Helper()
	pub := peers.Offer(g.T.Context(), g, topic)
	ended := make(chan error, 1)
	go func() {
		ended <- pub.Pace(g.T.Context(), 1<<20, count, 10*time.Millisecond, func(int) {})
	}()
	return ended
}

// uploader starts gorecord with --upload to s.
func uploader(g *harness.Graph, s *s3.Server, args ...string) *harness.Process {
	g.T.Helper()
	cmd := g.Command("gorecord", append([]string{"--upload", s.At("robot")}, args...)...)
	cmd.Env = append(cmd.Env, s.Environment()...)
	p := g.Launch("gorecord", cmd)
	p.Printed("Recording to")
	return p
}

// checkStored compares what the server has with the bags here: all of them, the same,
// and nothing that it had taken was sent again.
func checkStored(g *harness.Graph, s *s3.Server, count int) {
	g.T.Helper()
	names := bags.Names(g, "out")
	if len(names) != count {
		g.T.Errorf("%d bags, want %d: %v", len(names), count, names)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if len(s.Again) > 0 {
		g.T.Errorf("sent again though the server had it: %v", s.Again)
	}
	for _, name := range names {
		path := filepath.Join(g.Dir, "out"+name)
		here, there := sum(g.T, path), sum(g.T, filepath.Join(s.Dir, "robot", "out"+name))
		if here != there {
			g.T.Errorf("out%s is another one in the store", name)
		}
		size, err := harness.StatIn(g, "out"+name)
		var taken int64
		for _, n := range s.Stored["robot/out"+name] {
			taken += n
		}
		if err != nil || taken < size || taken > size+size/100+1000 { // with what frames the checksums
			g.T.Errorf("out%s: the server took %d bytes of %d, %v", name, taken, size, err)
		}
		if _, err := os.Lstat(filepath.Join(g.Dir, ".out"+name+".upload")); err == nil {
			g.T.Errorf("out%s still waits for its upload", name)
		}
	}
}

func sum(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// TestUploadKilledTwice: the server is killed twice within a part, while ten files are
// recorded and uploaded. Nothing is lost, and nothing is sent twice.
func TestUploadKilledTwice(t *testing.T) {
	t.Parallel()
	harness.Long(t, "uploads 320 MB, with retries, for half a minute")
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	mb := uploadMB
	killed := make(chan struct{}, 2)
	s.OnPart = func(n int) {
		if n == 3 || n == 3+mb/8/2 { // of parts of 8 MiB
			s.Kill()
			killed <- struct{}{}
		}
	}
	rec := uploader(g, s, "/camera", "-O", "out", "--split", "--size", strconv.Itoa(mb/10), "--upload-wait", "3m")
	done := camera(g, "/camera", mb-mb/20) // the tenth file is half full
	for range 2 {
		select {
		case <-killed:
		case <-time.After(2 * harness.Timeout): // it is ten seconds where nothing else runs
			t.Fatal("no part was uploaded")
		}
		s.Start()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	rec.Stop()
	if out := rec.Out.String(); !strings.Contains(out, "lost: none") || !strings.Contains(out, "uploads: uploaded 10 files\n") {
		t.Errorf("summary:\n%s", out)
	}
	checkStored(g, s, 10)
	n := 0
	for i := range 10 {
		if topic := bags.Read(t, filepath.Join(g.Dir, "out_"+strconv.Itoa(i)+".bag"))["/camera"]; topic != nil {
			n += len(topic.Messages)
		}
	}
	if n != mb-mb/20 {
		t.Errorf("%d messages of %d are in the bags", n, mb-mb/20)
	}
}

// TestUploadAfterKill: gorecord is killed in the middle of an upload, with files that
// wait and one that it records. The next one uploads them all, and goes on with the
// upload where it was. It deletes them when the store has them.
func TestUploadAfterKill(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a store that fails, is slow or lies")
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	rec := uploader(g, s, "/camera", "-O", "out", "--split", "--size", "40", "--upload-rate", "20M")
	var once sync.Once
	s.Mu.Lock()
	s.OnPart = func(n int) {
		if n == 4 { // there are five in a file, and three are under way at a time
			once.Do(func() { rec.Signal(syscall.SIGKILL) })
		}
	}
	s.Mu.Unlock()
	done := camera(g, "/camera", 150)
	if code := rec.Wait(); code != -1 {
		t.Fatalf("exit code %d; it was to be killed", code)
	}
	<-done // it has lost its subscriber
	before := len(bags.Names(g, "out"))
	if before == 0 {
		t.Fatal("no finished bag waits")
	}
	s.Mu.Lock()
	acknowledged := len(s.Stored["robot/out_0.bag"])
	s.Mu.Unlock()
	if acknowledged == 0 || acknowledged == 5 {
		t.Fatalf("the upload is to be in the middle: %d parts are there", acknowledged)
	}
	next := uploader(g, s, "/nothing", "-O", "next", "--recover", "--upload-wait", "3m")
	next.Printed("Recovered")
	next.Stop()
	checkStored(g, s, before+1)
}

// TestUploadDelete: what the store has is deleted here, and gobag reads it there.
func TestUploadDelete(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100)
	rec := uploader(g, s, "/t", "-O", "out", "--upload-delete", "--upload-wait", "1m")
	f.WaitDone()
	rec.Stop()
	if left, err := filepath.Glob(filepath.Join(g.Dir, "*.bag*")); err != nil || len(left) > 0 {
		t.Errorf("left here: %v, %v", left, err)
	}
	stored := filepath.Join(s.Dir, "robot", "out.bag")
	for _, args := range [][]string{{"info"}, {"check"}, {"echo", "-n", "1", "-b"}} {
		cmd := g.Command("gobag", append(args, s.At("robot/out.bag"))...)
		cmd.Env = append(cmd.Env, s.Environment()...)
		if p := g.Launch("gobag", cmd); p.Wait() != 0 {
			t.Errorf("gobag %v:\n%s", args, p.Out.String())
		}
	}
	cmd := g.Command("gobag", "convert", s.At("robot/out.bag"), "copy.bag")
	cmd.Env = append(cmd.Env, s.Environment()...)
	if p := g.Launch("gobag", cmd); p.Wait() != 0 {
		t.Errorf("gobag convert:\n%s", p.Out.String())
	}
	if r := bags.Same(t, stored, filepath.Join(g.Dir, "copy.bag")); r.Compared != 100 {
		t.Errorf("%d messages, want 100", r.Compared)
	}
	cmd = g.Command("gobag", "diff", "--times", "0", s.At("robot/out.bag"), "copy.bag")
	cmd.Env = append(cmd.Env, s.Environment()...)
	if p := g.Launch("gobag", cmd); p.Wait() != 0 || !strings.HasPrefix(p.Out.String(), "Same: 100 messages on 1 topic\n") {
		t.Errorf("gobag diff:\n%s", p.Out.String())
	}
}

// TestUploadShown: how uploads are is told on the way, and what needs somebody is no
// good health.
func TestUploadShown(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	if err := os.MkdirAll(filepath.Join(s.Dir, "robot"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "robot", "out_0.bag"), []byte("of another robot"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + harness.FreePort(t)
	f := peers.NewFlood(g, "/t", 100)
	rec := uploader(g, s, "/t", "-O", "out", "--split", "--http", address)
	f.WaitDone()
	ask := func(path string) string {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body)
	}
	split := func() {
		resp, err := http.Post("http://"+address+"/api/v1/split", "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	split()
	harness.Eventually(t, "the refused bag is told", func() bool {
		return strings.Contains(ask("/metrics"), "\ngorecord_uploads_refused_total 1\n") && strings.Contains(ask("/healthz"), "other objects of their names (1)")
	})
	split()
	harness.Eventually(t, "the other bag is uploaded", func() bool {
		return strings.Contains(ask("/metrics"), "\ngorecord_uploads_total 1\n") && strings.Contains(ask("/api/v1/state"), `"done":1,`)
	})
	if text := ask("/metrics") + ask("/healthz") + ask("/api/v1/state") + rec.Out.String(); strings.Contains(text, s3.Password) || strings.Contains(text, s3.User+":") {
		t.Errorf("shows who we are:\n%s", text)
	}
	rec.Stop()
}
