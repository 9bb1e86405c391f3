package ros2_test

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	_ "github.com/gorosbag/gorosbag/internal/ros2/db3/sqlite" // recordings of ROS 2
	"github.com/gorosbag/gorosbag/internal/ros2/mcapwriter"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestPacked reads recordings that rosbag2 has packed with zstd: each file, or each message, in both storages.
func TestPacked(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	topic := rosbag2.Topic{Name: "/t", Type: "std_msgs/msg/String", Serialization: "cdr", Encoding: "ros2msg", Definition: "string data"}
	for _, storage := range []string{rosbag2.MCAP, rosbag2.SQLite} {
		for _, mode := range []string{"file", "message", "message, one damaged", "file, damaged"} {
			if storage == rosbag2.MCAP && mode == "file, damaged" {
				continue // see TestPackedCut
			}
			t.Run(storage+"/"+mode, func(t *testing.T) {
				name := "x_0." + map[string]string{rosbag2.MCAP: "mcap", rosbag2.SQLite: "db3"}[storage]
				dir := t.TempDir()
				path := filepath.Join(dir, name)
				var messages []string
				for _, text := range []string{"a", "b", "c"} {
					data := str2(text)
					if strings.HasPrefix(mode, "message") {
						data = string(encoder.EncodeAll([]byte(data), nil))
					}
					if text == "b" && mode == "message, one damaged" {
						data = "no zstd"
					}
					messages = append(messages, data)
				}
				if storage == rosbag2.SQLite {
					w, err := db3.Create(t.Context(), path, "humble")
					if err != nil {
						t.Fatal(err)
					}
					id, err := w.Add(topic)
					for i, m := range messages {
						if err == nil {
							err = w.Write(id, int64(i+1)*1e9, []byte(m))
						}
					}
					if err == nil {
						err = w.Finish(t.Context(), &rosbag2.Metadata{})
					}
					if err != nil {
						t.Fatal(err)
					}
				} else {
					writeMCAP(t, path, topic, messages)
				}
				if strings.HasPrefix(mode, "file") {
					b, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					b = encoder.EncodeAll(b, nil)
					if mode == "file, damaged" {
						b[len(b)/2] ^= 1
					}
					if err := os.WriteFile(path+".zstd", b, 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
					name += ".zstd"
				}
				kind, _, _ := strings.Cut(mode, ",")
				metadata := "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: " + storage + "\n  compression_format: zstd\n  compression_mode: " +
					strings.ToUpper(kind) + "\n  relative_file_paths: [" + name + "]\n"
				if err := os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte(metadata), 0o600); err != nil {
					t.Fatal(err)
				}
				if mode == "file, damaged" {
					_, err := ros2.Open(t.Context(), dir, ros2.OpenOptions{})
					if err == nil || !strings.Contains(err.Error(), name+": cannot be unpacked: ") {
						t.Errorf("a damaged file: %v", err)
					}
					return
				}
				if mode == "file" {
					alone, wrong := lines(openSource(t, filepath.Join(dir, name), ros2.OpenOptions{}), rosbag.Query{})
					if len(alone) != 3 || len(wrong) > 0 {
						t.Errorf("the file alone: %+v, %v", alone, wrong)
					}
				}
				if mode == "message" { // rosbag2 writes metadata.yaml at its end, so that a robot that lost power has none
					without := t.TempDir()
					if err := os.Link(path, filepath.Join(without, name)); err != nil {
						t.Fatal(err)
					}
					alone, wrong := lines(openSource(t, without, ros2.OpenOptions{}), rosbag.Query{})
					if len(alone) != 3 || len(wrong) > 0 {
						t.Errorf("without metadata.yaml: %+v, %v", alone, wrong)
					}
				}
				s := openSource(t, dir, ros2.OpenOptions{})
				if len(s.Info().Damage) > 0 || s.Info().Messages != 3 {
					t.Errorf("%+v", s.Info())
				}
				lost := 0
				if mode == "message, one damaged" {
					lost = 1
				}
				all, wrong := lines(s, rosbag.Query{})
				if len(all) != 3-lost || len(wrong) != lost || all[len(all)-1].data != string(str("c")) {
					t.Errorf("messages %+v, errors %v", all, wrong)
				}
				for _, found := range s.Latest(rosbag.Time{Sec: 1, Nsec: 1}, nil) {
					if found.Err != nil || string(found.Message.Data()) != string(str("a")) {
						t.Errorf("the latest message before second 1 is %+v", found)
					}
				}
			})
		}
	}
	if left, err := filepath.Glob(filepath.Join(temporary, ".gorosbag-*")); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}

// TestPackedCut: of a packed MCAP file that is cut, the messages before are read.
func TestPackedCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x_0.mcap")
	random := make([]byte, 10_000)
	messages := make([]string, 100)
	for i := range messages {
		if _, err := rand.Read(random); err != nil {
			t.Fatal(err)
		}
		messages[i] = str2(hex.EncodeToString(random))
	}
	writeMCAP(t, path, rosbag2.Topic{Name: "/t", Type: "std_msgs/msg/String", Serialization: "cdr", Encoding: "ros2msg", Definition: "string data"}, messages)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = encoder.EncodeAll(b, nil)
	if err := errors.Join(os.WriteFile(path+".zstd", b[:len(b)/2], 0o600), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	s := openSource(t, dir, ros2.OpenOptions{})
	all, _ := lines(s, rosbag.Query{})
	if len(all) < 39 || len(all) > 50 { // a chunk has 39
		t.Errorf("%d messages", len(all))
	}
	if d := s.Info().Damage; len(d) == 0 || !errors.Is(d[0], rosbag.ErrCorrupt) || !strings.HasPrefix(d[0].Error(), "x_0.mcap.zstd: cannot be unpacked: ") {
		t.Errorf("damage %v", d)
	}
}

// writeMCAP writes a file with messages of one topic, one second apart.
func writeMCAP(t *testing.T, path string, topic rosbag2.Topic, messages []string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := mcapwriter.New(f, mcapwriter.Options{Profile: "ros2", Compression: "none", ChunkBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := w.AddSchema(mcapwriter.AnyID, topic.Type, topic.Encoding, []byte(topic.Definition))
	if err != nil {
		t.Fatal(err)
	}
	channel, err := w.AddChannel(mcapwriter.AnyID, schema, topic.Name, topic.Serialization, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range messages {
		if err := w.Write(channel, 0, uint64(i+1)*1e9, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
