package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
)

// twoTopics writes an MCAP file with 10 messages of /a and 5 of /b.
func twoTopics(t *testing.T, chunked bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: chunked})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	check(w.WriteHeader(&mcap.Header{Profile: "ros1"}))
	check(w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/String", Encoding: "ros1msg", Data: []byte("string data\n")}))
	for id, topic := range map[uint16]string{1: "/a", 2: "/b"} {
		check(w.WriteChannel(&mcap.Channel{ID: id, SchemaID: 1, Topic: topic, MessageEncoding: "ros1"}))
	}
	for n := range 15 {
		check(w.WriteMessage(&mcap.Message{ChannelID: uint16(1 + n%3/2), LogTime: uint64(100+n) * 1e9, Data: []byte("\x02\x00\x00\x00hi")}))
	}
	check(w.Close())
	return b.Bytes()
}

// restated changes what the statistics say of a channel.
func restated(t *testing.T, b []byte, channel uint16, from, to uint64) []byte {
	t.Helper()
	pair := func(n uint64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint16(nil, channel), n)
	}
	if bytes.Count(b, pair(from)) != 1 {
		t.Fatalf("the statistics have no %d messages of channel %d", from, channel)
	}
	return bytes.Replace(b, pair(from), pair(to), 1)
}

// TestCheckStatistics: the statistics of an MCAP file are compared with its messages channel by channel, also where
// the sum is right.
func TestCheckStatistics(t *testing.T) {
	t.Parallel()
	for _, chunked := range []bool{true, false} {
		good := twoTopics(t, chunked)
		if code, stdout, stderr := gobag("check", "--json", write(t, "good.mcap", good)); !strings.Contains(stdout, `"messages":15`) || chunked && code != 0 {
			t.Errorf("chunks %v: code %d, %s%s", chunked, code, stdout, stderr)
		}
		swapped := write(t, "swapped.mcap", restated(t, restated(t, good, 1, 10, 9), 2, 5, 6))
		want := `15 messages were found, the statistics know of 15: 10 of 9 of /a, 5 of 6 of /b`
		if code, stdout, _ := gobag("check", swapped); code != 3 || !strings.Contains(stdout, want) {
			t.Errorf("chunks %v: code %d, %s", chunked, code, stdout)
		}
		if code, stdout, stderr := gobag("info", swapped); code != 3 || strings.Count(stderr, "\n") != 2 || !strings.Contains(stdout, "messages:    15") || !strings.Contains(stderr, want) {
			t.Errorf("chunks %v: code %d, %s%s", chunked, code, stdout, stderr)
		}
	}
}

// TestCheckMetadata: what metadata.yaml counts is compared with what the files hold topic by topic, and files that it
// does not list are named.
func TestCheckMetadata(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"mcap", "sqlite3"} {
		for name, tc := range map[string]struct {
			edit func(t *testing.T, dir string, text string) string
			code int
			want string
		}{
			"as it is": {func(_ *testing.T, _, text string) string { return text }, 0, "sound: "},
			"more": {func(_ *testing.T, _, text string) string {
				return strings.Replace(text, "message_count: 1000\n", "message_count: 1007\n", 1)
			}, 3, "topic /imu/data: metadata.yaml counts 1007 messages, there are 1000: a file is missing or was cut"},
			"a topic more": {func(_ *testing.T, _, text string) string {
				return strings.Replace(text, `name: "/odom"`, `name: "/odom2"`, 1)
			}, 3, "topic /odom2: metadata.yaml counts 500 messages, there are 0"},
			"fewer": {func(_ *testing.T, _, text string) string {
				return strings.Replace(text, "message_count: 1000\n", "message_count: 900\n", 1)
			}, 0, "warning: /imu/data: metadata.yaml counts 900 messages, there are 1000"},
			"not listed": {func(t *testing.T, dir, text string) string {
				t.Helper()
				for _, name := range names(t, dir) {
					if ext := filepath.Ext(name); ext != ".yaml" {
						b, err := os.ReadFile(filepath.Join(dir, name))
						if err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(filepath.Join(dir, "run_1"+ext), b, 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
				return text
			}, 3, "is not listed in metadata.yaml: its messages are not read"},
		} {
			t.Run(fmt.Sprint(storage, "/", name), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "run")
				if code, _, stderr := gobag("convert", "-q", demoBag, dir, "--to", "ros2", "--storage", storage); code != 0 {
					t.Fatal(stderr)
				}
				path := filepath.Join(dir, "metadata.yaml")
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tc.edit(t, dir, string(text))), 0o600); err != nil {
					t.Fatal(err)
				}
				if code, stdout, stderr := gobag("check", dir); code != tc.code || !strings.Contains(stdout, tc.want) || stderr != "" {
					t.Errorf("code %d, %s%s", code, stdout, stderr)
				}
			})
		}
	}
}
