package faults_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/load"
)

const (
	killTopic = "/kill"
	killBytes = 4000 // of a message
)

// TestReindexKilled kills recorders at several moments. gobag reindex keeps every
// message that is wholly in the file, and no fewer than rosbag reindex; ROS's own
// tools read the result.
func TestReindexKilled(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs and kills stock as well")
	harness.NeedROS(t)
	for _, recorder := range []string{"gorecord", "/usr/lib/rosbag/record"} {
		for _, args := range [][]string{nil, {"--lz4"}} {
			moments := []int64{50, 700, 2500}
			if recorder == "gorecord" {
				moments = []int64{700} // TestKillAnywhere does the rest
			}
			for _, at := range moments {
				name := fmt.Sprintf("%s %v after %d", filepath.Base(recorder), args, at)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					g := harness.NewGraph(t, "gomaster")
					killAt(g, recorder, at, append(args, killTopic, "-O", "killed")...)
					checkReindexed(g, filepath.Join(g.Dir, "killed.bag.active"), recorder)
				})
			}
		}
	}
}

// killAt records a steady stream of numbered messages and kills the recorder when so
// many were sent.
func killAt(g *harness.Graph, recorder string, at int64, args ...string) {
	g.T.Helper()
	ctx, cancel := context.WithCancel(g.T.Context())
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.Port, "/killed", killTopic)
	if err != nil {
		cancel()
		g.T.Fatal(err)
	}
	var sent atomic.Int64
	var ended atomic.Value // why the link did, if it did
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := pub.Pace(ctx, killBytes, 1<<20, time.Millisecond, func(n int) { sent.Store(int64(n)) })
		ended.Store(fmt.Sprint(err))
	}()
	g.T.Cleanup(func() {
		cancel()
		<-done // ends with its link or ctx
		pub.Close()
	})
	rec := g.Start(recorder, args...)
	g.Eventually("messages flow", func() bool { return sent.Load() >= at && harness.Size(g, "killed.bag.active") >= 0 },
		func() string {
			return fmt.Sprintf("%d of %d messages were sent; the link ended: %v", sent.Load(), at, ended.Load())
		})
	rec.Signal(syscall.SIGKILL)
	rec.Wait()
}

// checkReindexed reindexes a killed recording with gobag and with rosbag.
func checkReindexed(g *harness.Graph, path, recorder string) {
	g.T.Helper()
	killed, err := os.ReadFile(path)
	if err != nil {
		g.T.Fatal(err)
	}
	whole, _ := wholeMessages(g.T, killed)
	stockCopy := filepath.Join(g.Dir, "stock.bag")
	if err := os.WriteFile(stockCopy, killed, 0o600); err != nil {
		g.T.Fatal(err)
	}

	if err := os.Mkdir(filepath.Join(g.Dir, "ours"), 0o700); err != nil {
		g.T.Fatal(err)
	}
	p := g.Start("gobag", "reindex", "--output-dir", "ours", path)
	code := p.Wait()
	if whole == 0 && code == 1 {
		return // not one message reached the file
	}
	if code != 0 && code != 3 {
		g.T.Fatalf("gobag reindex: exit code %d: %s", code, p.Out.String())
	}
	ours := filepath.Join(g.Dir, "ours", "killed.bag.active")
	kept := numbers(g.T, ours)
	if len(kept) < whole {
		g.T.Errorf("%d messages kept, %d are wholly in the file", len(kept), whole)
	}
	next := uint32(0)
	for i, n := range kept {
		if n < next || n > next && recorder == "gorecord" { // stock loses some before they come to the file, on a busy machine
			g.T.Fatalf("message %d is number %d, want %d: one is missing, or comes twice", i, n, next)
		}
		next = n + 1
	}
	if err := g.Try("rosbag", "reindex", "-q", stockCopy); err != nil {
		g.T.Fatal(err)
	}
	stock := 0
	for _, c := range bags.Dump(g, stockCopy) {
		stock += len(c.Messages)
	}
	g.T.Logf("%s: %d bytes, %d whole messages, kept %d, stock keeps %d", recorder, len(killed), whole, len(kept), stock)
	if stock > len(kept) {
		g.T.Errorf("rosbag reindex keeps %d messages, gobag %d", stock, len(kept))
	}
	if len(kept) > 0 {
		stockReads(g, ours, len(kept))
	}
}

// stockReads has ROS's own tools read a bag of so many messages.
func stockReads(g *harness.Graph, path string, count int) {
	g.T.Helper()
	if out := g.Run("rosbag", "info", path); !strings.Contains(out, fmt.Sprintf(" %d msg", count)) {
		g.T.Errorf("rosbag info says:\n%s", out)
	}
	if out := g.Run("rosbag", "check", path); !strings.Contains(out, "does not need any migrations") {
		g.T.Errorf("rosbag check says:\n%s", out)
	}
	read := 0
	for _, c := range bags.Dump(g, path) {
		read += len(c.Messages)
	}
	if read != count {
		g.T.Errorf("the Python API reads %d of %d messages", read, count)
	}
	if out := g.Run("/usr/lib/rosbag/play", "--immediate", "--quiet", "--delay", "0", path); strings.Contains(out, "rror") {
		g.T.Errorf("rosbag play says:\n%s", out)
	}
}

// numbers returns the numbers of the messages on killTopic of a bag in file order.
func numbers(t *testing.T, path string) []uint32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{IndexOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var list []uint32
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Conn.Topic != killTopic {
			continue // the recorder's account of losses
		}
		if len(m.Data()) != killBytes {
			t.Fatalf("a message of %d bytes", len(m.Data()))
		}
		list = append(list, binary.LittleEndian.Uint32(m.Data()[4:]))
	}
	return list
}

// wholeMessages counts the messages that are wholly in what is left of a recording, in
// the plainest way: uncompressed ones by their records, compressed ones by the index
// data after their chunks. A chunk with a message or header whose end lies in a page of zeros, which the file system
// has lost, ends the count before it: its checksum is wrong (ADR 0025). inChunks are those of whole chunks that rosbag reindex keeps
// for sure: in front of a torn record it may leave out the last one.
func wholeMessages(t *testing.T, b []byte) (count, inChunks int) {
	t.Helper()
	packed, torn, before, total := false, false, 0, len(b)
	lost := func(data, after []byte) bool { // the page in which the data ends
		end := total - len(after)
		data = data[max(0, len(data)-(end-(end-1)&^4095)):]
		return len(bytes.Trim(data, "\x00")) == 0
	}
	for b = b[min(len(b), len("#ROSBAG V2.0\n")):]; len(b) >= 4; {
		n := int(binary.LittleEndian.Uint32(b))
		if len(b) < 8+n {
			break
		}
		if lost(b[4:4+n], b[4+n:]) {
			return before, before
		}
		head, err := fields.Parse(b[4 : 4+n])
		if err != nil {
			t.Fatal(err)
		}
		op, _ := head.Get("op")
		size := int(binary.LittleEndian.Uint32(b[4+n:]))
		if op == "\x05" {
			before = inChunks
			compression, _ := head.Get("compression")
			torn = size == 0 || len(b) < 8+n+size
			if packed = compression != "none"; !packed || size == 0 {
				b = b[8+n:] // its records follow
				continue
			}
		}
		if len(b) < 8+n+size {
			break
		}
		switch {
		case op == "\x02" && size > 0 && lost(b[8+n:8+n+size], b[8+n+size:]):
			return before, before
		case op == "\x02":
			count++
			if !torn {
				inChunks++
			}
		case op == "\x04" && packed:
			c, _ := head.Get("count")
			count += int(binary.LittleEndian.Uint32([]byte(c)))
			inChunks = count
		}
		b = b[8+n+size:]
	}
	if len(b) > 0 {
		return count, before
	}
	return count, inChunks
}
