package view_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// most is the most memory that gobag view may take, in KiB.
const most = 256 << 10

// checkMemory checks how much memory a process has had.
func checkMemory(t *testing.T, process *os.Process) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no figure in %s", status)
	}
	if peak, _ := strconv.Atoi(string(m[1])); peak > most {
		t.Errorf("%d MiB of memory, more than %d", peak>>10, most>>10)
	} else {
		t.Logf("%d MiB of memory", peak>>10)
	}
}

// holes writes a file without its zeros, which then take no room.
type holes struct{ *os.File }

func (h holes) Write(p []byte) (int, error) {
	const block = 64 << 10
	zeros := make([]byte, block)
	for rest := p; len(rest) > 0; {
		n := min(block, len(rest))
		if bytes.Equal(rest[:n], zeros[:n]) {
			if _, err := h.Seek(int64(n), 1); err != nil {
				return 0, err
			}
		} else if _, err := h.File.Write(rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// writeTopics writes a bag of 500 topics with numbers, and a camera with a picture for each 10,000 messages; each is in a
// chunk of its own if each is set.
func writeTopics(t *testing.T, path string, messages int, each bool) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	o := bagfmt.WriterOptions{}
	if each {
		o.ChunkBytes = 1
	}
	w, err := bagfmt.NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	conns := make([]*rosbag.Connection, 500)
	for i := range conns {
		if conns[i], err = w.AddConnection(fmt.Sprintf("/sensor_%03d", i), rosbag.Header{
			{Key: "type", Value: "std_msgs/Float64"}, {Key: "md5sum", Value: "fdb28210bfa9d7c91146260178d9a584"}, {Key: "message_definition", Value: "float64 data\n"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	camera, err := w.AddConnection("/camera", rosbag.Header{
		{Key: "type", Value: "sensor_msgs/Image"}, {Key: "md5sum", Value: "060021388200f6f0f447d0fcd9c64743"}, {Key: "message_definition", Value: imageDefinition},
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := image("rgb8", 640, 480, 3*640, bytes.Repeat([]byte{10, 200, 90, 60, 0, 40}, 320*480))
	for i := range messages {
		at := rosbag.Time{Sec: 1000 + uint32(i/200), Nsec: uint32(i%200) * 5_000_000}
		conn, payload := conns[i%len(conns)], binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Sin(float64(i)/1e4)))
		if i%10_000 == 0 {
			conn, payload = camera, seen
		}
		if err := w.Write(conn, at, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLargeBag: a picture beyond 4 GiB is shown, with little memory.
func TestLargeBag(t *testing.T) {
	t.Parallel()
	harness.Long(t, "makes a bag of 5 GB, which takes no room")
	path := filepath.Join(t.TempDir(), "large.bag")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := bagfmt.NewWriter(holes{f}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/camera", rosbag.Header{
		{Key: "type", Value: "sensor_msgs/Image"}, {Key: "md5sum", Value: "060021388200f6f0f447d0fcd9c64743"}, {Key: "message_definition", Value: imageDefinition},
	})
	if err != nil {
		t.Fatal(err)
	}
	payload := image("rgba8", 2048, 2048, 4*2048, make([]byte, 4*2048*2048))
	for n := range uint32(300) {
		if err := w.Write(c, rosbag.Time{Sec: 1000 + n}, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() < 1<<32 {
		t.Fatalf("%v, %v", info, err)
	}
	address, process := start(t, path)
	p := open(t, address, 1280, 900)
	p.choose("/camera")
	p.key("End")
	p.shows("#picture-title", "+299.000")
	p.shows("#picture-panel .hints", "dark")
	checkMemory(t, process)
}
