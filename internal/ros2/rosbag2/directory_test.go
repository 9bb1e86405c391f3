package rosbag2_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
)

func TestReadDirectory(t *testing.T) {
	t.Parallel()
	yaml := func(version, storage string, paths ...string) string {
		return "rosbag2_bagfile_information:\n  version: " + version + "\n  storage_identifier: " + storage +
			"\n  relative_file_paths: [" + strings.Join(paths, ", ") + "]\n"
	}
	for name, c := range map[string]struct {
		yaml          string // empty: no metadata.yaml
		files         []string
		want          []string
		storage       string
		damage, fails string
		notes         int
	}{
		"by number":          {files: []string{"r_10.mcap", "r_2.mcap", "r_1.mcap", "notes.txt", ".x.mcap"}, want: []string{"r_1.mcap", "r_2.mcap", "r_10.mcap"}, storage: "mcap"},
		"no number first":    {files: []string{"r_0.db3", "r_.db3"}, want: []string{"r_.db3", "r_0.db3"}, storage: "sqlite3"},
		"two storages":       {files: []string{"r_0.mcap", "r_0.db3"}, fails: "no metadata.yaml that says which"},
		"nothing":            {files: []string{"a.bag"}, fails: "neither metadata.yaml nor"},
		"as metadata says":   {yaml: yaml("8", "mcap", "b.mcap", "a.mcap"), files: []string{"a.mcap", "b.mcap", "c.mcap", "c.db3"}, want: []string{"b.mcap", "a.mcap"}, storage: "mcap"},
		"missing":            {yaml: yaml("8", "mcap", "a.mcap", "b.mcap"), files: []string{"b.mcap"}, want: []string{"b.mcap"}, storage: "mcap", damage: "a.mcap is missing"},
		"before version 4":   {yaml: yaml("3", "sqlite3", "old/old_0.db3"), files: []string{"old_0.db3"}, want: []string{"old_0.db3"}, storage: "sqlite3"},
		"storage unknown":    {yaml: yaml("5", `""`, "a_0.mcap"), files: []string{"a_0.mcap"}, want: []string{"a_0.mcap"}, storage: "mcap"},
		"in this directory":  {yaml: yaml("8", "mcap", "./a.mcap"), files: []string{"a.mcap"}, want: []string{"a.mcap"}, storage: "mcap"},
		"listed twice":       {yaml: yaml("8", "mcap", "a.mcap", "./a.mcap"), files: []string{"a.mcap"}, fails: `lists "a.mcap" twice`},
		"outside":            {yaml: yaml("8", "mcap", "../a.mcap"), fails: "outside of the directory"},
		"absolute":           {yaml: yaml("8", "mcap", "/a.mcap"), fails: "outside of the directory"},
		"other storage":      {yaml: yaml("8", "rosbag_v2", "a.bag"), fails: `has the storage "rosbag_v2"`},
		"bad metadata":       {yaml: "a: [", files: []string{"a.mcap"}, want: []string{"a.mcap"}, storage: "mcap", damage: "not valid YAML"},
		"bad, and no files":  {yaml: "a: [", fails: "not valid YAML"},
		"lists no files":     {yaml: yaml("8", "mcap"), files: []string{"a.mcap"}, want: []string{"a.mcap"}, storage: "mcap"},
		"compressed by file": {yaml: yaml("8", "sqlite3", "a.db3.zstd") + "  compression_mode: FILE\n  compression_format: zstd\n", files: []string{"a.db3.zstd"}, want: []string{"a.db3.zstd"}, storage: "sqlite3"},
		"packed by another":  {yaml: yaml("8", "sqlite3", "a.db3.lz4") + "  compression_mode: FILE\n  compression_format: lz4\n", files: []string{"a.db3.lz4"}, fails: `packed with "lz4"`},
		"unpacked":           {yaml: yaml("8", "mcap", "a_0.mcap.zstd", "a_1.mcap.zstd"), files: []string{"a_0.mcap", "a_1.mcap.zstd"}, want: []string{"a_0.mcap", "a_1.mcap.zstd"}, storage: "mcap"},
		"unpacked and kept":  {yaml: yaml("8", "mcap", "a.mcap.zstd"), files: []string{"a.mcap", "a.mcap.zstd"}, want: []string{"a.mcap.zstd"}, storage: "mcap"},
		"packed later":       {yaml: yaml("8", "mcap", "a.mcap"), files: []string{"a.mcap.zstd"}, want: []string{"a.mcap.zstd"}, storage: "mcap"},
		"packed, no listing": {files: []string{"r_10.mcap.zstd", "r_2.mcap.zstd", "r_2.mcap"}, want: []string{"r_2.mcap", "r_10.mcap.zstd"}, storage: "mcap"},
		"renamed":            {yaml: yaml("8", "mcap", "a_0.mcap", "a_1.mcap"), files: []string{"b_0.mcap", "a_1.mcap"}, want: []string{"b_0.mcap", "a_1.mcap"}, storage: "mcap", notes: 1},
		"all renamed":        {yaml: yaml("8", "mcap", "a_9.mcap", "a_10.mcap"), files: []string{"b_9.mcap", "b_10.mcap"}, want: []string{"b_9.mcap", "b_10.mcap"}, storage: "mcap", notes: 2},
		"renamed or not":     {yaml: yaml("8", "mcap", "a.mcap"), files: []string{"b.mcap", "c.mcap"}, storage: "mcap", damage: "a.mcap is missing"},
		"of another storage": {yaml: yaml("8", "mcap", "a.mcap"), files: []string{"b.db3"}, storage: "mcap", damage: "a.mcap is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fstest.MapFS{}
			if c.yaml != "" {
				dir["metadata.yaml"] = &fstest.MapFile{Data: []byte(c.yaml)}
			}
			for _, f := range c.files {
				dir[f] = &fstest.MapFile{}
			}
			r, err := rosbag2.ReadDirectory(dir)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v; want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r.Files, cmpopts.EquateEmpty()); diff != "" || r.Storage != c.storage {
				t.Errorf("storage %q, files %s", r.Storage, diff)
			}
			if c.damage == "" && len(r.Damage) > 0 || c.damage != "" && (len(r.Damage) != 1 || !strings.Contains(r.Damage[0].Error(), c.damage)) {
				t.Errorf("damage %v; want %q", r.Damage, c.damage)
			}
			if len(r.Notes) != c.notes || c.notes > 0 && len(r.Unlisted) > 0 {
				t.Errorf("notes %v, unlisted %v", r.Notes, r.Unlisted)
			}
			if !rosbag2.IsRecording(dir) {
				t.Error("not a recording")
			}
		})
	}
}

// TestReadDirectoryPipes: nothing that is not a regular file is opened, which could wait forever.
func TestReadDirectoryPipes(t *testing.T) {
	t.Parallel()
	pipe := &fstest.MapFile{Mode: fs.ModeNamedPipe}
	listing := &fstest.MapFile{Data: []byte("version: 8\nstorage_identifier: mcap\nrelative_file_paths: [a.mcap]\n")}
	for name, c := range map[string]struct {
		dir         fstest.MapFS
		fails, says string
	}{
		"metadata":       {dir: fstest.MapFS{"metadata.yaml": pipe, "a.mcap": {}}, says: "metadata.yaml: is not a regular file"},
		"storage":        {dir: fstest.MapFS{"a.mcap": pipe}, fails: "neither metadata.yaml nor"},
		"listed storage": {dir: fstest.MapFS{"a.mcap": pipe, "metadata.yaml": listing}, fails: "a.mcap is not a regular file"},
	} {
		r, err := rosbag2.ReadDirectory(c.dir)
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: error %v; want %q", name, err, c.fails)
			}
		case err != nil || len(r.Damage) != 1 || !strings.Contains(r.Damage[0].Error(), c.says):
			t.Errorf("%s: %+v, %v; want %q", name, r, err, c.says)
		}
	}
}
