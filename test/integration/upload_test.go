package integration_test

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

	"github.com/gorosbag/gorosbag/test/bagdiff"
)

// uploadMB is how many MB TestUploadKilledTwice records in ten files: 2000 with
// GOROSBAG_FULL.
func uploadMB() int {
	if os.Getenv("GOROSBAG_FULL") != "" {
		return 2000
	}
	return 120
}

// camera publishes count messages of 1 MB, hundred a second at most.
func (g *graph) camera(topic string, count int) (done <-chan error) {
	g.t.Helper()
	pub := g.offer(g.t.Context(), topic)
	ended := make(chan error, 1)
	go func() {
		ended <- pub.Pace(g.t.Context(), 1<<20, count, 10*time.Millisecond, func(int) {})
	}()
	return ended
}

// uploader starts gorecord with --upload to s.
func (g *graph) uploader(s *s3Server, args ...string) *process {
	g.t.Helper()
	cmd := g.command("gorecord", append([]string{"--upload", s.at("robot")}, args...)...)
	cmd.Env = append(cmd.Env, s.environment()...)
	p := g.launch("gorecord", cmd)
	p.printed("Recording to")
	return p
}

// checkStored compares what the server has with the bags here: all of them, the same,
// and nothing that it had taken was sent again.
func (g *graph) checkStored(s *s3Server, bags int) {
	g.t.Helper()
	names := g.bags("out")
	if len(names) != bags {
		g.t.Errorf("%d bags, want %d: %v", len(names), bags, names)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.again) > 0 {
		g.t.Errorf("sent again though the server had it: %v", s.again)
	}
	for _, name := range names {
		path := filepath.Join(g.dir, "out"+name)
		here, there := sum(g.t, path), sum(g.t, filepath.Join(s.dir, "robot", "out"+name))
		if here != there {
			g.t.Errorf("out%s is another one in the store", name)
		}
		size, err := statIn(g, "out"+name)
		var taken int64
		for _, n := range s.stored["robot/out"+name] {
			taken += n
		}
		if err != nil || taken < size || taken > size+size/100+1000 { // with what frames the checksums
			g.t.Errorf("out%s: the server took %d bytes of %d, %v", name, taken, size, err)
		}
		if _, err := os.Lstat(filepath.Join(g.dir, ".out"+name+".upload")); err == nil {
			g.t.Errorf("out%s still waits for its upload", name)
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
	s, g := newS3(t), newGraph(t, "gomaster")
	mb := uploadMB()
	killed := make(chan struct{}, 2)
	s.onPart = func(n int) {
		if n == 3 || n == 3+mb/8/2 { // of parts of 8 MiB
			s.kill()
			killed <- struct{}{}
		}
	}
	rec := g.uploader(s, "/camera", "-O", "out", "--split", "--size", strconv.Itoa(mb/10), "--upload-wait", "2m")
	done := g.camera("/camera", mb-mb/20) // the tenth file is half full
	for range 2 {
		select {
		case <-killed:
		case <-time.After(2 * patience): // it is half a minute and more where nothing else runs
			t.Fatal("no part was uploaded")
		}
		s.start()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	rec.stop()
	if out := rec.out.String(); !strings.Contains(out, "lost: none") || !strings.Contains(out, "uploads: uploaded 10 files\n") {
		t.Errorf("summary:\n%s", out)
	}
	g.checkStored(s, 10)
	n := 0
	for i := range 10 {
		if topic := read(t, filepath.Join(g.dir, "out_"+strconv.Itoa(i)+".bag"))["/camera"]; topic != nil {
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
	s, g := newS3(t), newGraph(t, "gomaster")
	rec := g.uploader(s, "/camera", "-O", "out", "--split", "--size", "40", "--upload-rate", "20M")
	var once sync.Once
	s.mu.Lock()
	s.onPart = func(n int) {
		if n == 4 { // there are five in a file, and three are under way at a time
			once.Do(func() { rec.signal(syscall.SIGKILL) })
		}
	}
	s.mu.Unlock()
	done := g.camera("/camera", 150)
	if code := rec.wait(); code != -1 {
		t.Fatalf("exit code %d; it was to be killed", code)
	}
	<-done // it has lost its subscriber
	before := len(g.bags("out"))
	if before == 0 {
		t.Fatal("no finished bag waits")
	}
	s.mu.Lock()
	acknowledged := len(s.stored["robot/out_0.bag"])
	s.mu.Unlock()
	if acknowledged == 0 || acknowledged == 5 {
		t.Fatalf("the upload is to be in the middle: %d parts are there", acknowledged)
	}
	next := g.uploader(s, "/nothing", "-O", "next", "--recover", "--upload-wait", "1m")
	next.printed("Recovered")
	next.stop()
	g.checkStored(s, before+1)
}

// TestUploadDelete: what the store has is deleted here, and gobag reads it there.
func TestUploadDelete(t *testing.T) {
	t.Parallel()
	s, g := newS3(t), newGraph(t, "gomaster")
	f := g.flood("/t", 100)
	rec := g.uploader(s, "/t", "-O", "out", "--upload-delete", "--upload-wait", "1m")
	f.waitDone()
	rec.stop()
	if left, err := filepath.Glob(filepath.Join(g.dir, "*.bag*")); err != nil || len(left) > 0 {
		t.Errorf("left here: %v, %v", left, err)
	}
	topics, err := bagdiff.Load(filepath.Join(s.dir, "robot", "out.bag"))
	if err != nil || len(topics["/t"].Messages) != 100 {
		t.Errorf("%v, %v", topics, err)
	}
	for _, args := range [][]string{{"info"}, {"check"}, {"echo", "-n", "1", "-b"}} {
		cmd := g.command("gobag", append(args, s.at("robot/out.bag"))...)
		cmd.Env = append(cmd.Env, s.environment()...)
		if p := g.launch("gobag", cmd); p.wait() != 0 {
			t.Errorf("gobag %v:\n%s", args, p.out.String())
		}
	}
	cmd := g.command("gobag", "convert", s.at("robot/out.bag"), "copy.bag")
	cmd.Env = append(cmd.Env, s.environment()...)
	if p := g.launch("gobag", cmd); p.wait() != 0 {
		t.Errorf("gobag convert:\n%s", p.out.String())
	}
	if r := bagdiff.Compare(topics, read(t, filepath.Join(g.dir, "copy.bag"))); r.Err() != nil {
		t.Error(r.Err())
	}
}

// TestUploadShown: how uploads are is told on the way, and what needs somebody is no
// good health.
func TestUploadShown(t *testing.T) {
	t.Parallel()
	s, g := newS3(t), newGraph(t, "gomaster")
	if err := os.MkdirAll(filepath.Join(s.dir, "robot"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "robot", "out_0.bag"), []byte("of another robot"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + freePort(t)
	f := g.flood("/t", 100)
	rec := g.uploader(s, "/t", "-O", "out", "--split", "--http", address)
	f.waitDone()
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
	eventually(t, "the refused bag is told", func() bool {
		return strings.Contains(ask("/metrics"), "\ngorecord_uploads_refused_total 1\n") && strings.Contains(ask("/healthz"), "other objects of their names (1)")
	})
	split()
	eventually(t, "the other bag is uploaded", func() bool {
		return strings.Contains(ask("/metrics"), "\ngorecord_uploads_total 1\n") && strings.Contains(ask("/api/v1/state"), `"done":1,`)
	})
	if text := ask("/metrics") + ask("/healthz") + ask("/api/v1/state") + rec.out.String(); strings.Contains(text, s3Password) || strings.Contains(text, s3User+":") {
		t.Errorf("shows who we are:\n%s", text)
	}
	rec.stop()
}
