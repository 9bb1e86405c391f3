package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestToROS2 converts there and back, through each form that a recording of ROS 2 has.
func TestToROS2(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"mcap", "sqlite3"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := filepath.Join(dir, "run")
			code, stdout, stderr := gobag("convert", demoBag, out, "--to", "ros2", "--storage", storage)
			if code != 0 || !strings.Contains(stdout, "2163 messages in 1 file, "+storage+" written for jazzy") || !strings.Contains(stdout, "std_msgs/Header: field seq is dropped") {
				t.Fatalf("code %d\n%s%s", code, stdout, stderr)
			}
			file := map[string]string{"mcap": "run_0.mcap", "sqlite3": "run_0.db3"}[storage]
			if diff := cmp.Diff([]string{"metadata.yaml", file}, names(t, out)); diff != "" {
				t.Error(diff)
			}
			want := counts(t, demoBag)
			for _, in := range []string{out, filepath.Join(out, file)} {
				back := filepath.Join(dir, filepath.Base(in)+".bag")
				if code, _, stderr := gobag("convert", in, back); code != 0 {
					t.Fatalf("%s: code %d, %s", in, code, stderr)
				}
				if diff := cmp.Diff(want, counts(t, back)); diff != "" {
					t.Errorf("%s: %s", in, diff)
				}
				if code, stdout, stderr := gobag("check", "--deep", in); code != 0 || !strings.Contains(stdout, "sound: ") {
					t.Errorf("check %s: code %d, %s%s", in, code, stdout, stderr)
				}
			}
			what := map[string]string{"mcap": "ROS 2, mcap", "sqlite3": "ROS 2, sqlite3 of schema 4"}[storage]
			if _, stdout, _ := gobag("info", out); !strings.Contains(stdout, " "+what+"\n") || strings.Contains(stdout, "compression") {
				t.Errorf("info: %s; want %s, and nothing of chunks", stdout, what)
			}
			if _, stdout, _ := gobag("check", out); !strings.Contains(stdout, "sound: version "+what+", 2163 messages") {
				t.Errorf("check: %s; want %s", stdout, what)
			}
			filtered := filepath.Join(dir, "map.bag")
			if code, _, stderr := gobag("filter", out, filtered, `topic == "/map"`); code != 0 {
				t.Fatal(stderr)
			}
			if diff := cmp.Diff(map[string]uint64{"/map": 1}, counts(t, filtered)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestToROS2Report(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := gobag("convert", demoBag, demoBag, out, "--to", "ros2", "--dry-run", "--json", "-t", "/map", "-t", "/odom", "--expr", `topic != "/odom" or m.header.seq < 5`)
	if code != 0 {
		t.Fatal(stderr)
	}
	var r struct {
		DryRun  bool   `json:"dry_run"`
		Files   int    `json:"files"`
		Written uint64 `json:"messages_out"`
		Topics  []struct {
			Topic   string                  `json:"topic"`
			OutType string                  `json:"out_type"`
			Latched bool                    `json:"latched"`
			Changes []struct{ From string } `json:"changes"`
		} `json:"topics"`
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if !r.DryRun || r.Written != 2*4+2 || len(r.Topics) != 2 || r.Files != 1 {
		t.Errorf("%+v", r)
	}
	for _, topic := range r.Topics {
		if topic.Topic == "/map" && (!topic.Latched || topic.OutType != "nav_msgs/msg/OccupancyGrid" || len(topic.Changes) != 1 || topic.Changes[0].From != "seq") {
			t.Errorf("%+v", topic)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("--dry-run wrote")
	}
}

// TestFromROS2Report converts back, to a bag or not, and renames a topic on the way.
func TestFromROS2Report(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ros2, out := filepath.Join(dir, "run"), filepath.Join(dir, "run.bag")
	if code, _, stderr := gobag("convert", demoBag, ros2, "--to", "ros2", "-q"); code != 0 {
		t.Fatal(stderr)
	}
	args := []string{"convert", ros2, out, "-t", "/map", "-t", "/odom", "--rename", "/odom=/o2"}
	code, dry, stderr := gobag(append(args, "--dry-run")...)
	if code != 0 || !strings.Contains(dry, "run.bag: 501 messages would be written\n") {
		t.Errorf("code %d, %s%s", code, dry, stderr)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("--dry-run wrote")
	}
	code, done, stderr := gobag(args...)
	if code != 0 || !strings.Contains(stderr, "run.bag: 501 messages\n") {
		t.Errorf("code %d, %s%s", code, done, stderr)
	}
	if want := strings.TrimSuffix(dry, filepath.Join(dir, "run.bag")+": 501 messages would be written\n"); done != want || !strings.Contains(done, "topic /o2") {
		t.Errorf("got\n%s, --dry-run reports\n%s", done, want)
	}
	if code, _, stderr := gobag("convert", demoBag, out, "--dry-run"); code != 1 || !strings.Contains(stderr, "--dry-run is for conversions to ROS 2 and from it") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// TestROS2InPlace: what cannot be changed in place says what it is.
func TestROS2InPlace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	if code, _, stderr := gobag("convert", demoBag, dir, "--to", "ros2", "-q", "--storage", "sqlite3"); code != 0 {
		t.Fatal(stderr)
	}
	for _, path := range []string{dir, filepath.Join(dir, "run_0.db3")} {
		for _, args := range [][]string{{"reindex", path}, {"note", path, "a=b"}, {"compress", path}} {
			if code, _, stderr := gobag(args...); code != 1 || stderr != "gobag: "+path+": is a recording of ROS 2; gobag convert makes a bag of it\n" {
				t.Errorf("%s: code %d, %s", args[0], code, stderr)
			}
		}
	}
	dir = filepath.Dir(write(t, "one.mcap", mcapWithExtras(t, false, true))) // of ROS 1
	if code, _, stderr := gobag("note", dir, "a=b"); code != 1 || !strings.Contains(stderr, "is a directory; name the bag files in it") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// TestToROS2Exists checks what --force replaces.
func TestToROS2Exists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "run")
	to := func(more ...string) (int, string) {
		code, _, stderr := gobag(append([]string{"convert", demoBag, out, "--to", "ros2", "-q"}, more...)...)
		return code, stderr
	}
	if code, stderr := to("--size", "1"); code != 0 {
		t.Fatal(stderr)
	}
	if code, stderr := to(); code != 1 || !strings.Contains(stderr, "exists; use --force") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, stderr := to("--force", "--storage", "sqlite3"); code != 0 {
		t.Errorf("code %d, %s", code, stderr)
	}
	before := names(t, out)
	if diff := cmp.Diff([]string{"metadata.yaml", "run_0.db3"}, before); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(out, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stderr := to("--force"); code != 1 || !strings.Contains(stderr, "holds thesis.txt, which would be deleted") {
		t.Errorf("code %d, %s", code, stderr)
	}
	listing := []byte("version: 8\nstorage_identifier: mcap\nrelative_file_paths: [thesis.txt, run_0.db3]\n")
	if err := os.WriteFile(filepath.Join(out, "metadata.yaml"), listing, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stderr := to("--force"); code != 1 || !strings.Contains(stderr, "holds thesis.txt, which would be deleted") {
		t.Errorf("metadata.yaml lists thesis.txt: code %d, %s", code, stderr)
	}
	if code, _, stderr := gobag("convert", filepath.Join(out, "run_0.db3"), out, "--to", "ros2", "--force"); code != 1 || !strings.Contains(stderr, "has an input in it") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if diff := cmp.Diff([]string{"metadata.yaml", "run_0.db3", "thesis.txt"}, names(t, out)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"run"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestToROS2Usage(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"one path":         {[]string{demoBag}, "name the recording to convert, and what to write"},
		"several to a bag": {[]string{demoBag, demoBag, out}, "gobag merge makes one"},
		"size of a bag":    {[]string{demoBag, out, "--size", "5"}, "are for --to ros2"},
		"bad size":         {[]string{demoBag, out, "--to", "ros2", "--size", "x"}, "write for example 500M"},
		"bad format":       {[]string{demoBag, out, "--to", "ros3"}, `--to must be one of "bag","mcap","ros2" but got "ros3"; see gobag convert --help`},
		"bad distro":       {[]string{demoBag, out, "--to", "ros2", "--distro", "noetic"}, "--distro"},
		"bad rename":       {[]string{demoBag, out, "--to", "ros2", "--rename-type", "a/B"}, "write A/B=C/msg/D"},
		"packed sqlite":    {[]string{demoBag, out, "--to", "ros2", "--storage", "sqlite3", "--compression", "zstd"}, "no chunks to compress"},
		"bz2":              {[]string{demoBag, out, "--to", "ros2", "--compression", "bz2"}, "cannot be compressed with bz2"},
		"standard output":  {[]string{demoBag, "-", "--to", "ros2"}, "is a directory; name one"},
		"definitions":      {[]string{demoBag, out, "--definitions", "no/such"}, "--definitions no/such: no such file"},
		"no directory":     {[]string{demoBag, out + "/a/b", "--to", "ros2"}, "make that first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := gobag(append([]string{"convert"}, c.args...)...)
			if code != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("code %d, %q; want %q", code, stderr, c.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}

// TestToROS2Lossy: exit code 3 and a line for each topic of which messages are missing.
func TestToROS2Lossy(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../bagfmt/testdata/cpp_none.bag")
	if err != nil {
		t.Skip(err)
	}
	broken := write(t, "broken.bag", patch(t, patch(t, b, "int32 data", "int99 data"), "std_msgs/Int32", "our_msgs/Int32"))
	out := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := gobag("convert", broken, out, "--to", "ros2")
	if code != 3 || !strings.Contains(stderr, "topic /count: 25 of 25 messages left out: ") || !strings.Contains(stdout, "0 of 25") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
}

// TestToROS2DiskFull converts into a file system that has no room for the result.
func TestToROS2DiskFull(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"mcap", "sqlite3"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := mountSmall(dir); err != nil {
				t.Skip("no small file system: ", err)
			}
			t.Cleanup(func() {
				if err := unmount(dir); err != nil {
					t.Error(err)
				}
			})
			in := write(t, "big.bag", bigBag(t, 9<<20))
			code, _, stderr := gobag("convert", in, filepath.Join(dir, "run"), "--to", "ros2", "--storage", storage, "--compression", "none")
			if code != 1 || !strings.Contains(stderr, syscall.ENOSPC.Error()) {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
