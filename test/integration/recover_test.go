package integration_test

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
	"github.com/gorosbag/gorosbag/internal/fields"
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
	needROS(t)
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
					g := newGraph(t, "gomaster")
					g.killAt(recorder, at, append(args, killTopic, "-O", "killed")...)
					g.checkReindexed(filepath.Join(g.dir, "killed.bag.active"), recorder)
				})
			}
		}
	}
}

// killAt records a steady stream of numbered messages and kills the recorder when so
// many were sent.
func (g *graph) killAt(recorder string, at int64, args ...string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 60*time.Second)
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.port, "/killed", killTopic)
	if err != nil {
		cancel()
		g.t.Fatal(err)
	}
	var sent atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- pub.Pace(ctx, killBytes, 1<<20, time.Millisecond, func(n int) { sent.Store(int64(n)) })
	}()
	g.t.Cleanup(func() {
		cancel()
		<-done // ends with its link or ctx
		pub.Close()
	})
	rec := g.start(recorder, args...)
	g.eventually("messages flow", func() bool { return sent.Load() >= at && size(g, "killed.bag.active") >= 0 })
	rec.signal(syscall.SIGKILL)
	rec.wait()
}

// checkReindexed reindexes a killed recording with gobag and with rosbag.
func (g *graph) checkReindexed(path, recorder string) {
	g.t.Helper()
	killed, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}
	whole, _ := wholeMessages(g.t, killed)
	stockCopy := filepath.Join(g.dir, "stock.bag")
	if err := os.WriteFile(stockCopy, killed, 0o600); err != nil {
		g.t.Fatal(err)
	}

	if err := os.Mkdir(filepath.Join(g.dir, "ours"), 0o700); err != nil {
		g.t.Fatal(err)
	}
	p := g.start("gobag", "reindex", "--output-dir", "ours", path)
	code := p.wait()
	if whole == 0 && code == 1 {
		return // not one message reached the file
	}
	if code != 0 && code != 3 {
		g.t.Fatalf("gobag reindex: exit code %d: %s", code, p.out.String())
	}
	ours := filepath.Join(g.dir, "ours", "killed.bag.active")
	kept := numbers(g.t, ours)
	if len(kept) < whole {
		g.t.Errorf("%d messages kept, %d are wholly in the file", len(kept), whole)
	}
	for i, n := range kept {
		if want := uint32(i); n != want {
			g.t.Fatalf("message %d is number %d, want %d: one is missing, or comes twice", i, n, want)
		}
	}
	if err := g.try("rosbag", "reindex", "-q", stockCopy); err != nil {
		g.t.Fatal(err)
	}
	stock := 0
	for _, c := range g.dump(stockCopy) {
		stock += len(c.Messages)
	}
	g.t.Logf("%s: %d bytes, %d whole messages, kept %d, stock keeps %d", recorder, len(killed), whole, len(kept), stock)
	if stock > len(kept) {
		g.t.Errorf("rosbag reindex keeps %d messages, gobag %d", stock, len(kept))
	}
	if len(kept) > 0 {
		g.stockReads(ours, len(kept))
	}
}

// stockReads has ROS's own tools read a bag of so many messages.
func (g *graph) stockReads(path string, count int) {
	g.t.Helper()
	if out := g.run("rosbag", "info", path); !strings.Contains(out, fmt.Sprintf(" %d msg", count)) {
		g.t.Errorf("rosbag info says:\n%s", out)
	}
	if out := g.run("rosbag", "check", path); !strings.Contains(out, "does not need any migrations") {
		g.t.Errorf("rosbag check says:\n%s", out)
	}
	read := 0
	for _, c := range g.dump(path) {
		read += len(c.Messages)
	}
	if read != count {
		g.t.Errorf("the Python API reads %d of %d messages", read, count)
	}
	if out := g.run("/usr/lib/rosbag/play", "--immediate", "--quiet", "--delay", "0", path); strings.Contains(out, "rror") {
		g.t.Errorf("rosbag play says:\n%s", out)
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
	for m, err := range r.All(bagfmt.Query{}) {
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
// data behind their chunks. inChunks are those of chunks that are whole.
func wholeMessages(t *testing.T, b []byte) (count, inChunks int) {
	t.Helper()
	packed, torn := false, false
	for b = b[min(len(b), len("#ROSBAG V2.0\n")):]; len(b) >= 4; {
		n := int(binary.LittleEndian.Uint32(b))
		if len(b) < 8+n {
			break
		}
		head, err := fields.Parse(b[4 : 4+n])
		if err != nil {
			t.Fatal(err)
		}
		op, _ := head.Get("op")
		size := int(binary.LittleEndian.Uint32(b[4+n:]))
		if op == "\x05" {
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
	return count, inChunks
}
