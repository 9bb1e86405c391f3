package rosbag2_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

// TestReleases reads what is written with the parser of rosbag2, by the rules of its releases.
func TestReleases(t *testing.T) {
	t.Parallel()
	testkit.SkipUnlessFull(t, "compiles a program in C++")
	program := filepath.Join(t.TempDir(), "rules")
	if out, err := exec.CommandContext(t.Context(), "g++", "-o", program, "testdata/rules.cpp", "-lyaml-cpp").CombinedOutput(); err != nil {
		testkit.Missing(t, fmt.Sprintf("the program with yaml-cpp does not build (Debian 12: apt-get install g++ libyaml-cpp-dev): %v\n%s", err, out))
	}
	qos := rosbag2.FormatQoS([]rosbag2.Profile{{History: rosbag2.KeepLast, Depth: 3, Reliability: rosbag2.Reliable, Durability: rosbag2.TransientLocal, Liveliness: rosbag2.Automatic}})
	md := rosbag2.Metadata{
		Storage: rosbag2.MCAP, Start: 4294967295999999999, Duration: 5, Messages: 7,
		Topics: []rosbag2.TopicCount{
			{Messages: 7, Topic: rosbag2.Topic{Name: "/a: 'b'\n#\"\\", Type: "a/msg/A", Serialization: "cdr", QoS: qos, Hash: "RIHS01_1"}},
			{Topic: rosbag2.Topic{Name: "/b", Type: "a/msg/B", Serialization: "cdr"}},
		},
		Paths:  []string{"x ü_0.mcap"},
		Files:  []rosbag2.File{{Path: "x ü_0.mcap", Start: 1, Duration: 2, Messages: 7}},
		Custom: map[string]string{"k: 1": "two\nlines"},
		Distro: "jazzy",
	}
	const topics = "mcap 5 4294967295999999999 7\n/a: 'b'\n#\"\\ a/msg/A cdr 7 1 3 1 1 0 0 0 1 0HASH\n/b a/msg/B cdr 0NONE\n[]\nx ü_0.mcap\nx ü_0.mcap 1 2 7\n"
	read := func(release, text string) (string, error) {
		file := filepath.Join(t.TempDir(), "metadata.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program, release, file).Output()
		return string(out), err
	}
	for _, release := range []string{"humble", "iron", "jazzy"} {
		hash, none, more := " RIHS01_1", " ", "k: 1=two\nlines\njazzy\n"
		if release == "humble" {
			hash, none, more = "", "", ""
		}
		want := strings.NewReplacer("HASH", hash, "NONE", none).Replace(topics) + more
		if got, err := read(release, md.Text()); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", release, err, got, want)
		}
		if _, err := read(release, (&rosbag2.Metadata{Storage: rosbag2.SQLite}).Text()); err != nil {
			t.Errorf("%s, empty recording: %v", release, err)
		}
	}
	// What version 9 has instead, humble cannot read: the rules above are those that matter.
	nine := strings.ReplaceAll(md.Text(), `offered_qos_profiles: ""`, "offered_qos_profiles: []")
	if _, err := read("humble", nine); err == nil {
		t.Error("humble reads version 9")
	}
}
