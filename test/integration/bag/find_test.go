package bag_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
)

// memory is a file in memory, whose beginning may be written again.
type memory struct{ bytes.Buffer }

// WriteAt implements io.WriterAt.
func (m *memory) WriteAt(p []byte, off int64) (int, error) { return copy(m.Bytes()[off:], p), nil }

// fleetBag returns a bag of a robot: /imu and /tf, every tenth also /scan, and every hundredth with
// a note.
func fleetBag(t *testing.T, n int) []byte {
	t.Helper()
	var b memory
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	topics := []string{"/imu", "/tf"}
	if n%10 == 0 {
		topics = append(topics, "/scan")
	}
	if n%100 == 0 {
		topics = append(topics, note.NotesTopic)
	}
	at := time.Unix(1_700_000_000+int64(n)*60, 0)
	for _, topic := range topics {
		c, err := w.AddConnection(topic, rosbag.Header{
			{Key: "topic", Value: topic},
			{Key: "type", Value: note.Type},
			{Key: "md5sum", Value: note.MD5Sum},
			{Key: "message_definition", Value: note.Definition},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(c, rosbag.TimeOf(at), []byte("\x0c\x00\x00\x00site: hall 3")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// makeFleet makes bags of 50 robots in a directory, and returns those with /scan of robots 10 to 19.
func makeFleet(t *testing.T, dir string, bags int) (scans []string) {
	t.Helper()
	for n := range bags {
		name := fmt.Sprintf("r%02d/run_%05d.bag", n%50, n)
		path := filepath.Join(dir, name)
		if n < 50 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, fleetBag(t, n), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "r1") && n%10 == 0 {
			scans = append(scans, name)
		}
	}
	slices.Sort(scans)
	return scans
}

// TestFindFleet: 10,000 bags are searched with tens of requests, and in less than two seconds of processor time (measured:
// 0.34 s). make test searches 2,000.
func TestFindFleet(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	bags := 2_000
	if harness.Full() {
		bags = 10_000
	}
	scans := makeFleet(t, s.Dir, bags)
	// The directory is that of the store: its catalog is the same, and made without its requests.
	harness.Contains(t, inStore(g, s, 0, "index", s.Dir), fmt.Sprintf("%d bags in the catalog, %d read", bags, bags))
	before := s.Requests()
	find := launchInStore(g, s, "find", `topic == "/scan" and bag startsWith "r1"`, s.At(""))
	find.Ended(0)
	cpu, requests := find.Cmd.ProcessState.UserTime()+find.Cmd.ProcessState.SystemTime(), s.Requests()-before
	t.Logf("%d of %d bags found with %d requests and %v of processor time", len(scans), bags, requests, cpu)
	var found []string
	for line := range strings.Lines(find.Out.String()) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "s3://bags/"), "?")
		found = append(found, name)
	}
	if !slices.Equal(found, scans) {
		t.Errorf("%d bags were found, not %d:\n%.1000s", len(found), len(scans), find.Out.String())
	}
	if requests > 50 {
		t.Errorf("%d requests", requests)
	}
	if most := time.Duration(bags) * 200 * time.Microsecond; cpu > most {
		t.Errorf("%v of processor time, want %v at most", cpu, most)
	}
}

// TestFindUploaded: what gobag upload puts into a store is found by its notes, without being read.
func TestFindUploaded(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	makeFleet(t, g.Dir, 101)
	inStore(g, s, 0, "upload", "-q", "--all", "r00", s.At("fleet/{host}/%Y"))
	out := inStore(g, s, 0, "find", `notes.site == "hall 3" and "/scan" in topics`, s.At("fleet"))
	year := time.Now().Format("2006")
	for _, name := range []string{"run_00000.bag", "run_00100.bag"} {
		if !strings.Contains(out, "/"+year+"/"+name+"?endpoint=") {
			t.Errorf("no %s:\n%s", name, out)
		}
	}
	if strings.Count(out, "\n") != 2 {
		t.Errorf("other bags, or some had to be read:\n%s", out)
	}
	harness.Contains(t, inStore(g, s, 0, "info", strings.Fields(out)[0]), "/imu")
}
