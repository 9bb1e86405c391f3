package opening_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestForeignFiles: the error says what a file is that somebody took for a bag.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	for start, want := range map[string]string{
		"":                            "empty file",
		"SQLite format 3\x00\x10\x00": "it is an SQLite database; if it is a recording of ROS 2, name a local file",
		"version https://git-lfs.g":   "it is a git LFS pointer; fetch the bag itself with git lfs pull",
		"\x1f\x8b\x08\x00":            "it is packed with gzip",
		"BZh91AY&SY":                  "it is packed with bzip2",
		"\xfd7zXZ\x00\x00":            "it is packed with xz",
		"\x28\xb5\x2f\xfd\x04":        "it is packed with zstd",
		"\x04\x22\x4d\x18\x64":        "it is packed with lz4",
		"PK\x03\x04\x14":              "it is a zip archive",
		"\n <!DOCTYPE html>\n<html>":  "it is an HTML page",
		"<HTML><body>404":             "it is an HTML page",
		strings.Repeat("\x00", 100):   "it starts with zeros",
		"hello\nworld\n":              `it is text that starts with "hello"; a bag starts with #ROSBAG V2.0`,
		"# Überschrift\n":             `it is text that starts with "# Überschrift"`,
		"#!/bin/sh\necho\n":           `it is text that starts with "#!/bin/sh"`,
		"\x7fELF\x02\x01\x01\x00\x00": "it starts with the bytes 7f 45 4c 46 02 01 01 00; a bag",
		"caf\xe9 au lait":             "it starts with the bytes 63 61 66 e9 20 61 75 20; a bag",
		"the end is cut: \xc3":        `it is text that starts with "the end is cut: `,
		"#\x00\x01":                   "it starts with the bytes 23 00 01",
	} {
		_, err := open([]byte(start), table.Options{})
		if !errors.Is(err, rosbag.ErrNotBag) || !strings.HasPrefix(err.Error(), "not a bag: "+want) {
			t.Errorf("%.20q: %v, want %s", start, err, want)
		}
	}
}
