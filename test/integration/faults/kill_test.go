package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/load"
)

// TestKillAnywhere kills recorders at random points. gobag reindex keeps all that was
// wholly written, and all that is older than the flush interval was. Nothing in it is
// wrong, doubled or out of order, and rosbag reads it. rosbag reindex finds the same in
// the chunks that are whole.
func TestKillAnywhere(t *testing.T) {
	t.Parallel()
	kills := 24
	if harness.Full() { // fifteen seconds of two processors
		kills = 200
	}
	lanes := [][]string{nil, {"--lz4"}, {"--bz2"}, nil, {"--lz4"}, {"--bz2"}}
	for i, args := range lanes {
		t.Run(fmt.Sprintf("%d%s", i, strings.Join(args, "")), func(t *testing.T) {
			t.Parallel()
			l := newKillLane(t, args)
			for n := i; n < kills || len(l.kept) == 0 && n < 10*kills; n += len(lanes) { // a busy machine may have let none write
				l.kill(n)
			}
			if len(l.kept) == 0 {
				t.Fatal("no recorder has written a message before it was killed")
			}
			if harness.Full() {
				l.askStock()
			}
		})
	}
}

// killLane kills one recorder after the other, all fed by one publisher.
type killLane struct {
	*harness.Graph
	args    []string
	random  *rand.Rand
	pub     *load.Publisher
	payload []byte              // of every message, after its number
	kept    map[string][]uint32 // by the path that gobag reindex wrote
	whole   map[string]int      // messages that were in whole chunks
}

func newKillLane(t *testing.T, args []string) *killLane {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	l := &killLane{Graph: harness.NewGraph(t, "gomaster"), args: args, random: rand.New(rand.NewPCG(seed, 0)), kept: map[string][]uint32{}, whole: map[string]int{}}
	pub, err := load.Advertise(t.Context(), "127.0.0.1:"+l.Port, "/killed", killTopic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pub.Close() })
	l.pub = pub
	for _, dir := range []string{"ours", "stock"} {
		if err := os.Mkdir(filepath.Join(l.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// pick returns one of the words.
func (l *killLane) pick(words ...string) string { return words[l.random.IntN(len(words))] }

// kill kills the recorder of bag n at a random time and checks what is left.
func (l *killLane) kill(n int) {
	l.T.Helper()
	name := fmt.Sprintf("kill%d.bag", n)
	active := filepath.Join(l.Dir, name+".active")
	flush := l.pick("20ms", "100ms", "1s")
	args := append([]string{
		killTopic, "-O", name, "--flush-interval", flush, "--chunksize", l.pick("16", "100", "768"), "--sync", l.pick("none", "interval", "chunk"),
	}, l.args...)
	ctx, cancel := context.WithTimeout(l.T.Context(), harness.Timeout)
	var mu sync.Mutex
	var sent []time.Time
	paced := make(chan error, 1)
	go func() {
		paced <- l.pub.Pace(ctx, killBytes, 1<<20, time.Millisecond, func(int) {
			mu.Lock()
			sent = append(sent, time.Now())
			mu.Unlock()
		})
	}()
	rec := l.Start("gorecord", args...)
	stalls := l.Stalls(rec)
	l.Eventually("messages flow", func() bool { mu.Lock(); defer mu.Unlock(); return len(sent) > 0 })
	<-time.After(time.Duration(l.random.Int64N(int64(300 * time.Millisecond)))) // the random point
	still := stalls()
	rec.Signal(syscall.SIGKILL)
	killed := time.Now()
	rec.Wait()
	cancel()
	<-paced // with the error of a link that broke

	left, err := os.ReadFile(active)
	if err != nil {
		l.T.Fatal(err)
	}
	kept := l.reindex(name, active, left)
	interval, err := time.ParseDuration(flush)
	if err != nil {
		l.T.Fatal(err)
	}
	const slack = 2 * time.Second // a machine that is busy with other tests
	if n := len(kept); n < len(sent) && killed.Sub(sent[n]) > interval+slack+still {
		l.T.Errorf("%s: message %d is lost, sent %v before the kill with --flush-interval %s; the machine stood still for %v", name, n, killed.Sub(sent[n]), flush, still)
	}
	if err := os.Remove(active); err != nil {
		l.T.Fatal(err)
	}
}

// reindex has gobag reindex what is left of a bag, checks the result, and puts both
// aside for rosbag.
func (l *killLane) reindex(name, active string, left []byte) []uint32 {
	l.T.Helper()
	whole, inChunks := wholeMessages(l.T, left)
	p := l.Start("gobag", "reindex", "-q", "--output-dir", "ours", active)
	code := p.Wait()
	if whole == 0 && code == 1 {
		return nil // not one message reached the file
	}
	if code != 0 && code != 3 {
		l.T.Fatalf("gobag reindex: exit code %d: %s", code, p.Out.String())
	}
	ours := filepath.Join(l.Dir, "ours", name+".active")
	kept := l.numbers(ours)
	if len(kept) < whole {
		l.T.Errorf("%s: %d messages kept, %d are wholly in the file", name, len(kept), whole)
	}
	for i, n := range kept {
		if want := uint32(i); n != want {
			l.T.Fatalf("%s: message %d is number %d, want %d: one is missing, or comes twice", name, i, n, want)
		}
	}
	if len(kept) > 0 {
		l.kept[ours], l.whole[ours] = kept, inChunks
		if err := os.WriteFile(filepath.Join(l.Dir, "stock", name+".active"), left, 0o600); err != nil {
			l.T.Fatal(err)
		}
	}
	return kept
}

// numbers is the function of this name, and compares the payloads.
func (l *killLane) numbers(path string) []uint32 {
	l.T.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		l.T.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{IndexOnly: true})
	if err != nil {
		l.T.Fatal(err)
	}
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			l.T.Fatal(err)
		}
		if m.Conn.Topic != killTopic {
			continue
		}
		if l.payload == nil {
			l.payload = bytes.Clone(m.Data()[8:])
		}
		if !bytes.Equal(m.Data()[8:], l.payload) {
			l.T.Errorf("%s: a message of %v is wrong", path, m.Time)
		}
	}
	return numbers(l.T, path)
}

// askStock has rosbag read our results, and reindex the same rests itself.
func (l *killLane) askStock() {
	l.T.Helper()
	harness.NeedROS(l.T)
	var rests, all []string
	for ours := range l.kept {
		rest := l.stockOf(ours)
		rests = append(rests, rest)
		all = append(all, rest, ours)
	}
	l.Run("rosbag", append([]string{"reindex", "-q"}, rests...)...)
	var read map[string][]uint32
	l.Python(&read, "bag_numbers.py", all...)
	inOurs, inStock := 0, 0
	for ours, kept := range l.kept {
		stock := read[l.stockOf(ours)]
		if len(read[ours]) != len(kept) {
			l.T.Errorf("%s: rosbag reads %d messages of %d", ours, len(read[ours]), len(kept))
		}
		if least := l.whole[ours]; len(stock) < least || len(stock) > len(kept) {
			l.T.Errorf("%s: rosbag reindex keeps %d messages, %d are in whole chunks, gobag keeps %d", ours, len(stock), least, len(kept))
		}
		for i := range stock {
			if stock[i] != uint32(i) {
				l.T.Fatalf("%s: message %d of rosbag reindex is number %d", ours, i, stock[i])
			}
		}
		inOurs, inStock = inOurs+len(kept), inStock+len(stock)
	}
	l.T.Logf("%d bags, %d messages kept; rosbag reindex keeps %d", len(l.kept), inOurs, inStock)
}

func (l *killLane) stockOf(ours string) string {
	return filepath.Join(l.Dir, "stock", filepath.Base(ours))
}

// rest returns the numbers of what gobag reindex makes of a killed recording.
func rest(g *harness.Graph, where, path string) []uint32 {
	g.T.Helper()
	left, err := os.ReadFile(path)
	if err != nil {
		g.T.Fatal(err)
	}
	whole, _ := wholeMessages(g.T, left)
	code := exitCode(g.Try("gobag", "reindex", "-q", path))
	if code == 1 && whole == 0 {
		return nil // not one message reached the file
	}
	if code != 0 && code != 3 {
		g.T.Fatalf("%s: gobag reindex of %s: exit code %d", where, path, code)
	}
	kept := numbers(g.T, path)
	if len(kept) < whole {
		g.T.Errorf("%s: %d messages kept, %d are wholly in the file", where, len(kept), whole)
	}
	return kept
}

// exitCode returns that of a program that ran.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
