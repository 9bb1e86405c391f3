package bag_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
)

// makeBags makes a directory with bags of so many MB.
func makeBags(t *testing.T, dir string, bags, mb int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range bags {
		bigBag(t, filepath.Join(dir, fmt.Sprintf("run_%d.bag", n)), mb)
	}
}

// TestStoreKilledWhileRead: a store that goes away in the middle and stays away ends gobag after its
// retries, with an error that names the bag and says nothing of damage; goplay goes on. An audit
// continues where it was.
func TestStoreKilledWhileRead(t *testing.T) {
	harness.Long(t, "reads are retried for half a minute")
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	bigBag(t, filepath.Join(s.Dir, "big.bag"), 100)
	makeFleet(t, g.Dir, 50)
	inStore(g, s, 0, "upload", "-q", "--all", "r00", s.At("fleet"))
	makeBags(t, filepath.Join(g.Dir, "up"), 12, 15)
	inStore(g, s, 0, "upload", "-q", "--all", "up", s.At("up"))
	s.Slow(20*time.Millisecond, 20e6)
	commands := map[string]*harness.Process{}
	for name, args := range map[string][]string{
		"info":  {"info", "--exact", "-v", s.At("big.bag")},
		"check": {"check", s.At("big.bag")},
		"find":  {"find", "size > 0", s.At("")},
		"echo":  {"echo", "--noarr", "--nostr", s.At("big.bag"), "/odom"},
		"audit": {"audit", "--rate", "20M", s.At("up")},
	} {
		commands[name] = storeProgram(g, s, "gobag", args...)
	}
	player := storeProgram(g, s, "goplay", s.At("big.bag"), "--immediate")
	harness.Eventually(t, "the audit has verified a bag", func() bool {
		b, err := filepath.Glob(filepath.Join(g.Dir, "gobag", "audit-*"))
		if err != nil || len(b) == 0 {
			return false
		}
		text, err := os.ReadFile(b[0])
		return err == nil && strings.Contains(string(text), "run_")
	})
	s.Kill()
	player.Printed("a part of the bag could not be read, playing on after it")
	player.Signal(syscall.SIGINT)
	commands["goplay"] = player
	for name, p := range commands {
		code, out := p.Wait(), p.Out.String()
		want := 1
		switch name {
		case "goplay":
			want = 3
		case "find":
			continue // it may have been faster
		}
		if code != want || !strings.Contains(out, "s3://bags/") || strings.Contains(out, "damaged") || strings.Contains(out, s3.Password) {
			t.Errorf("%s: exit code %d:\n%.2000s", name, code, out)
		}
	}
	s.Start()
	s.Slow(0, 1e9)
	p := storeProgram(g, s, "gobag", "audit", s.At("up"))
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	harness.Contains(t, p.Out.String(), "12 bags verified, ", "of them before, 0 defects")
}

// TestStoreFull: a store that becomes full takes what has room, and the command says so and that
// the others wait here. What it took is sound, and there is room again after a while.
func TestStoreFull(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a store that fails or fills up")
	s, g := s3.NewSmall(t, 28), harness.NewGraph(t, "gomaster")
	makeBags(t, filepath.Join(g.Dir, "bags"), 4, 8)
	p := storeProgram(g, s, "gobag", "upload", "--all", "--delete", "bags", s.At("robot"))
	if code := p.Wait(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	harness.Contains(t, p.Out.String(), "Uploaded", "the store is full: make room there, or raise its quota; ", " of bags wait for the next start")
	stored := strings.Count(p.Out.String(), " Uploaded ")
	left, err := filepath.Glob(filepath.Join(g.Dir, "bags/*.bag"))
	if err != nil || stored+len(left) != 4 || stored == 0 {
		t.Errorf("%d bags in the store and %d here, %v", stored, len(left), err)
	}
	check := storeProgram(g, s, "gobag", "check", s.At("robot/"))
	if code, sound := check.Wait(), strings.Count(check.Out.String(), ": sound: "); code != 0 || sound != stored {
		t.Errorf("exit code %d, %d sound bags of %d", code, sound, stored)
	}
}

// TestUploadIsResumed: gobag upload that was killed, with a store that is killed after that, sends
// each part once.
func TestUploadIsResumed(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a store that fails or fills up")
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	makeBags(t, filepath.Join(g.Dir, "bags"), 1, 60) // of 8 parts
	parts := make(chan int, 100)
	s.Mu.Lock()
	s.OnPart = func(n int) {
		switch n {
		case 4:
			parts <- n
			<-t.Context().Done() // the program is killed meanwhile
		case 7:
			s.Kill()
			parts <- n
		}
	}
	s.Mu.Unlock()
	first := storeProgram(g, s, "gobag", "upload", "--all", "bags", s.At("robot"))
	<-parts
	first.Signal(syscall.SIGKILL)
	first.Wait()
	second := storeProgram(g, s, "gobag", "upload", "--all", "bags", s.At("robot"))
	<-parts
	s.Start()
	if code := second.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.Mu.Lock()
	again := s.Again
	s.Mu.Unlock()
	if len(again) > 0 {
		t.Errorf("sent twice: %v", again)
	}
	harness.Contains(t, inStore(g, s, 0, "check", s.At("robot/run_0.bag")), ": sound: ")
}
