package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// states has 24 s of two topics whose payloads repeat themselves, a small and a large one, and of one whose payloads do
// not, after a latched map.
func states() []sent {
	list := []sent{{"/map", headerFor("/map", "/server", "1", "std_msgs/String", "string data\n"), 0, []byte("\x02\x00\x00\x00ok")}}
	door := headerFor("/door", "/gate", "0", "std_msgs/Bool", "bool data\n")
	still := headerFor("/cmd", "/teleop", "0", "std_msgs/String", "string data\n")
	pose := headerFor("/pose", "/robot", "0", "test_msgs/Pose", poseDefinition)
	for i := range 240 {
		at := time.Duration(i+1) * 100 * time.Millisecond
		list = append(list,
			sent{"/door", door, at, []byte{byte(i / 7 % 2)}},
			sent{"/cmd", still, at, []byte("\x1c\x00\x00\x00stay where you are until then")},
			sent{"/pose", pose, at, poseData(uint32(i), at, float64(i), "n", 1)})
	}
	return list
}

// TestDiffWindow: a bag and an exact window of it differ by the messages outside of the window only, although payloads
// repeat themselves and the window begins with a latched message that has a time of its own.
func TestDiffWindow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	in := path("in.bag")
	writeSent(t, in, bagfmt.WriterOptions{ChunkBytes: 2000}, states())
	for name, args := range map[string]string{
		"window": "-s 12.05 --until 19.95", "start": "-s 12.05", "end": "--until 12.05", "topic": "-t /door -s 3.05", "a few": "-s 12.05 --until 12.65",
	} {
		out := path(strings.ReplaceAll(name, " ", "_") + ".bag")
		if code, _, stderr := gobag(append([]string{"filter", in, out}, strings.Fields(args)...)...); code != 0 {
			t.Fatal(stderr)
		}
		here, there := counts(t, in), counts(t, out)
		for turn, pair := range [][]string{{in, out}, {out, in}} {
			code, stdout, stderr := gobag("diff", pair[0], pair[1])
			if code != 3 || stderr != "" || strings.Contains(stdout, "another time") || strings.Contains(stdout, "changed") || strings.Contains(stdout, "moved") {
				t.Errorf("%s, %d: code %d, %s%s", name, turn, code, stdout, stderr)
			}
			for topic, n := range there {
				counted := fmt.Sprintf("%d messages only in %s\n", here[topic]-n, "AB"[turn:turn+1])
				if i := strings.Index(stdout, "\n"+topic+" "); n < here[topic] && (i < 0 || !strings.HasSuffix(stdout[:strings.Index(stdout[i+1:], "\n")+i+2], counted)) {
					t.Errorf("%s, %d: %s: want %s%s", name, turn, topic, counted, stdout)
				}
			}
		}
	}
}

// TestDiffCopyOfStates: where one bag is a copy of the other, what is missing or changed is found where it is, also among
// equal payloads. Of two recordings, such as that of playback, the times are compared, and only the payloads pair messages.
func TestDiffCopyOfStates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.bag")
	writeSent(t, in, bagfmt.WriterOptions{}, states())
	for name, tc := range map[string]struct {
		change func([]sent) []sent
		code   int
		want   []string
	}{
		"the same": {func(list []sent) []sent { return list }, 0, []string{"Same: 721 messages"}},
		"missing":  {dropped("/cmd", 100), 3, []string{"1 message only in A", "/cmd, message 101 at 1500000010.100000000: only in A"}},
		"later":    {func(list []sent) []sent { list[ofTopic(list, "/cmd", 100)].at += time.Millisecond; return list }, 3, []string{"1 message with another time", "/cmd, message 101"}},
		"changed":  {func(list []sent) []sent { list[ofTopic(list, "/door", 100)].data = []byte{9}; return list }, 3, []string{"1 message changed", "/door, message 101"}},
		"two swapped": {func(list []sent) []sent {
			i, j := ofTopic(list, "/pose", 100), ofTopic(list, "/pose", 107)
			list[i].data, list[j].data = list[j].data, list[i].data
			return list
		}, 3, []string{"2 messages in another place"}},
		"played": {func(list []sent) []sent {
			for i := range list {
				list[i].at += time.Hour + time.Duration(i%7)*time.Microsecond
			}
			return list
		}, 0, []string{"Same but for the times: 721 messages"}},
		"played at once": {func(list []sent) []sent {
			for i := range list {
				list[i].at += 51*time.Millisecond + time.Duration(i%7)*time.Microsecond
			}
			return list
		}, 0, []string{"Same but for the times: 721 messages"}},
	} {
		out := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".bag")
		writeSent(t, out, bagfmt.WriterOptions{}, tc.change(clone(states())))
		code, stdout, stderr := gobag("diff", in, out)
		if code != tc.code || stderr != "" {
			t.Errorf("%s: code %d, %s%s", name, code, stdout, stderr)
		}
		for _, want := range tc.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: want %s\n%s", name, want, stdout)
			}
		}
	}
}
