package wire

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/rosbag"
)

// foreign are files that people take for bags, by what they start with.
var foreign = []struct{ magic, what string }{
	{"SQLite format 3\x00", "an SQLite database; if it is a recording of ROS 2, name a local file"},
	{"version https://git-lfs", "a git LFS pointer; fetch the bag itself with git lfs pull"},
	{"\x1f\x8b", "packed with gzip; unpack it with gunzip"},
	{"BZh", "packed with bzip2 as a whole; unpack it with bunzip2"},
	{"\xfd7zXZ\x00", "packed with xz; unpack it with unxz"},
	{"\x28\xb5\x2f\xfd", "packed with zstd; unpack it with unzstd"},
	{"\x04\x22\x4d\x18", "packed with lz4 as a whole; unpack it with unlz4"},
	{"PK\x03\x04", "a zip archive; unpack it with unzip"},
}

// notBag returns an error that says what a file is instead of a bag, by its first bytes.
func notBag(head []byte) error {
	for _, f := range foreign {
		if strings.HasPrefix(string(head), f.magic) {
			return fmt.Errorf("%w: it is %s", rosbag.ErrNotBag, f.what)
		}
	}
	text := bytes.ToLower(bytes.TrimSpace(head))
	line, _, _ := strings.Cut(string(Clip(bytes.TrimSpace(head))), "\n")
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: empty file", rosbag.ErrNotBag)
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return fmt.Errorf("%w: it is an HTML page, perhaps an error page or a login page of a server; download the bag again", rosbag.ErrNotBag)
	case len(bytes.Trim(head, "\x00")) == 0:
		return fmt.Errorf("%w: it starts with zeros: its contents never reached the disk", rosbag.ErrNotBag)
	case isText(head):
		return fmt.Errorf("%w: it is text that starts with %q; a bag starts with #ROSBAG V2.0",
			rosbag.ErrNotBag, line)
	}
	return fmt.Errorf("%w: it starts with the bytes % x; a bag starts with #ROSBAG V2.0", rosbag.ErrNotBag,
		head[:min(len(head), 8)])
}

// isText reports whether head looks like the start of a text.
func isText(head []byte) bool {
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && len(head)-i >= utf8.UTFMax || r < ' ' &&
			!strings.ContainsRune("\t\n\r", r) {
			return false
		}
		i += n
	}
	return true
}

// Clip shortens text of the file for an error.
func Clip(b []byte) []byte { return b[:min(len(b), 32)] }
