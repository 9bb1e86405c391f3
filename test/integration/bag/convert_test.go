package bag_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// sample is what is known about an old bag of bagfmt/testdata/old.
type sample struct {
	Topics map[string]struct {
		N      int
		SHA256 string `json:"payload_sha256"` // of all payloads in the order of the file
	}
}

// said is one message as payloads.py tells it: time and hash.
type said struct {
	ns   int64
	hash string
}

// UnmarshalJSON takes [time, hash].
func (s *said) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]any{&s.ns, &s.hash}) }

// TestConvertOld converts every old bag and lets stock's Python API read the result:
// it finds the payloads that the makers of the bag wrote.
func TestConvertOld(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock's tools in Python for seconds")
	harness.NeedROS(t)
	bags, err := filepath.Glob("../../../bagfmt/testdata/old/*.bag")
	if err != nil || len(bags) < 30 {
		t.Fatalf("%d bags, %v", len(bags), err)
	}
	for _, path := range bags {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir()} // no master
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			want := contents(t, path)
			p := g.Start("gobag", "convert", "--allow-empty", path, "out.bag")
			if code := p.Wait(); code != 0 && code != 3 {
				t.Fatalf("exit code %d:\n%s", code, p.Out.String())
			}
			got := make(map[string][]said)
			g.Python(&got, "payloads.py", "out.bag")
			if d := gocmp.Diff(want, got, gocmp.AllowUnexported(said{}), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("differs (-want +got):\n%s", d)
			}
		})
	}
}

// contents reads an old bag from front to back, checks it against what its makers
// noted, and returns it in the order of time.
func contents(t *testing.T, path string) map[string][]said {
	t.Helper()
	about, err := os.ReadFile(strings.TrimSuffix(path, ".bag") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var known sample
	if err := json.Unmarshal(about, &known); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := bagfmt.NewScanner(f, bagfmt.ScannerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]said)
	sums := make(map[string]hash.Hash)
	for {
		m, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			continue // a cut bag: the notes tell what is whole
		}
		topic := m.Conn.Topic
		if sums[topic] == nil {
			sums[topic] = sha256.New()
		}
		sums[topic].Write(m.Data())
		one := sha256.Sum256(m.Data())
		all[topic] = append(all[topic], said{int64(m.Time.Sec)*1e9 + int64(m.Time.Nsec), hex.EncodeToString(one[:])})
	}
	for topic, k := range known.Topics {
		if k.N == 0 {
			continue
		}
		if len(all[topic]) != k.N || hex.EncodeToString(sums[topic].Sum(nil)) != k.SHA256 {
			t.Errorf("%s has %d messages, the notes say %d, or the payloads differ", topic, len(all[topic]), k.N)
		}
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b said) int { return cmp.Compare(a.ns, b.ns) })
	}
	return all
}

// TestRewrittenForStock lets stock's tools read what each command makes.
func TestRewrittenForStock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock's tools in Python for seconds")
	harness.NeedROS(t)
	g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir()}
	in := bags.Demo(t)
	want := bags.Dump(g, in)
	for name, args := range map[string][]string{
		"compress":   {"compress", "--output-dir", "c"},
		"lz4":        {"compress", "--lz4", "--output-dir", "l"},
		"decompress": {"decompress", "--output-dir", "d"},
	} {
		if err := os.Mkdir(filepath.Join(g.Dir, args[len(args)-1]), 0o700); err != nil {
			t.Fatal(err)
		}
		g.Run("gobag", append(args, in)...)
		out := filepath.Join(args[len(args)-1], filepath.Base(in))
		if d := gocmp.Diff(want, bags.Dump(g, out)); d != "" {
			t.Errorf("%s: stock reads other things (-want +got):\n%.2000s", name, d)
		}
		g.Run("rosbag", "check", out)
	}
	g.Run("gobag", "split", "--no-latched", "--duration", "2s", in, "part")
	parts, err := filepath.Glob(filepath.Join(g.Dir, "part_*.bag"))
	if err != nil || len(parts) < 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	g.Run("gobag", append([]string{"merge", "-o", "merged.bag"}, parts...)...)
	if d := gocmp.Diff(want, bags.Dump(g, "merged.bag")); d != "" {
		t.Errorf("split and merged: stock reads other things (-want +got):\n%.2000s", d)
	}
}

// TestInfoBesideStock compares the summaries of both programs, byte for byte.
func TestInfoBesideStock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock's tools in Python for seconds")
	harness.NeedROS(t)
	g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir()}
	paths, err := filepath.Glob("../../../bagfmt/testdata/*.bag")
	if err != nil || len(paths) < 6 {
		t.Fatalf("%d bags, %v", len(paths), err)
	}
	paths = append(paths, bags.Demo(t), "../../../bagfmt/testdata/old/v12_indexed.bag")
	var compared atomic.Int32
	compare := func(t *testing.T, path string) {
		for _, args := range [][]string{{}, {"--freq"}, {"-y"}, {"-y", "--freq"}, {"-y", "-k", "types"}, {"-y", "-k", "start"}} {
			args = append(append([]string{"info"}, args...), path)
			old := strings.Contains(path, "v12_")
			if old && slices.Contains(args, "-y") {
				continue // stock counts 0 messages there
			}
			cmd := g.Command("rosbag", args...)
			want, err := cmd.Output()
			if err != nil {
				continue // a bag that only we can read
			}
			compared.Add(1)
			got, err := g.Command("gobag", args...).Output()
			if strings.HasPrefix(filepath.Base(path), "python_") { // their chunks are not in the order of time: stock's times are those of the first and the last one
				want, got = withoutTimes(want), withoutTimes(got)
			}
			if d := gocmp.Diff(string(want), string(got)); d != "" || err != nil {
				t.Errorf("gobag %v: %v, differs (-stock +ours):\n%s", args, err, d)
			}
		}
	}
	t.Run("bag", func(t *testing.T) {
		for _, path := range paths {
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				compare(t, path)
			})
		}
	})
	if n := compared.Load(); n < 40 {
		t.Errorf("stock showed only %d summaries", n)
	}
}

// TestInterruptedConvert sends signals to a command that works: nothing is left.
func TestInterruptedConvert(t *testing.T) {
	t.Parallel()
	head, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		testInterrupted(t, head, s, "convert", "-", "out.bag")
		testInterrupted(t, head, s, "convert", "-", "out", "--to", "ros2")
		testInterrupted(t, head, s, "convert", "-", "out", "--to", "ros2", "--storage", "sqlite3")
	}
}

// testInterrupted sends a signal to a command that reads standard input and has got its beginning.
func testInterrupted(t *testing.T, head []byte, s syscall.Signal, args ...string) {
	t.Helper()
	g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir()}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := g.Command("gobag", args...)
	cmd.Stdin = r
	p := g.Launch("gobag", cmd)
	r.Close()
	if _, err := io.Copy(w, bytes.NewReader(head[:5000])); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the temporary file is there", func() bool { return len(files(t, g.Dir)) == 1 })
	p.Signal(s)
	if code := p.Wait(); code != 1 || !strings.Contains(p.Out.String(), "interrupted") {
		t.Errorf("exit code %d:\n%s", code, p.Out.String())
	}
	if left := files(t, g.Dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	w.Close()
}

// TestNobodyReads closes the pipes that commands write to: complaints are not needed
// for the work, and nothing is left of a result that nobody wants.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir()}
	cut := filepath.Join(t.TempDir(), "cut.bag")
	if err := os.WriteFile(cut, whole[:len(whole)-5000], 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	for _, tc := range []struct {
		args   []string
		stdout bool // is closed, and not stderr
		code   int
		want   []string // files
	}{
		{[]string{"info", cut}, true, 1, nil},
		{[]string{"convert", cut, "-"}, true, 1, nil},
		{[]string{"convert", cut, "o.bag"}, false, 3, []string{"o.bag"}},
	} {
		cmd := g.Command("gobag", tc.args...)
		var other bytes.Buffer
		cmd.Stdout, cmd.Stderr = &other, w
		if tc.stdout {
			cmd.Stdout, cmd.Stderr = w, &other
		}
		_ = cmd.Run() // the code tells
		if code := cmd.ProcessState.ExitCode(); code != tc.code || strings.Contains(other.String(), "pipe") {
			t.Errorf("gobag %v: code %d, %s", tc.args, code, other.String())
		}
		if d := gocmp.Diff(tc.want, files(t, g.Dir)); d != "" {
			t.Errorf("gobag %v: files differ (-want +got):\n%s", tc.args, d)
		}
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, fmt.Sprint(e.Name()))
	}
	return list
}

// ofTimes are the lines of a summary that depend on when the bag begins and ends.
var ofTimes = regexp.MustCompile(`(?m)^(duration|start|end|uncompressed|compressed): .*\n|^[0-9.]+\n`)

func withoutTimes(summary []byte) []byte { return ofTimes.ReplaceAll(summary, nil) }
