package info_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/gorosbag/gorosbag/internal/bags/info"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestYAMLValues: whatever a bag says of itself is YAML, and the same text when it is read again.
// What needs no quotes has none, as stock prints it.
func TestYAMLValues(t *testing.T) {
	t.Parallel()
	for text, plain := range map[string]bool{
		"/imu/data": true, "std_msgs/String": true, "992ce8a1687cec8c8bd883ec73ca41d1": true, "my bag-2.bag": true, "2014-03-31-19-11-29.bag": true,
		"a:b": true, "a#b": true, "/a,[b]{c}": true, "Köln": true, "1.2.3": true, "bz2": true,
		"*": false, "&a": false, "": false, " ": false, "a: b": false, "a:": false, "a #b": false, "a ": false, "- a": false, "---": false, "@a": false,
		"[": false, "{a}": false, "'": false, `"`: false, `a"b\`: true, "!x": false, "|": false, "%a": false, "`": false, "? a": false,
		"null": false, "~": false, "Yes": false, "off": false, "true": false, "12": false, "-1.5": false, "1e3": false, "0x1f": false, ".inf": false, "1_000": false,
		"12:30": false, "2014-03-31": false, "2014-03-31 19:11:29": false, "<<": false, "1e0": false,
		"a\nb": false, "a\x1b[2J": false, "a\x00b": false, "a\u202eb": false, "a\u00a0b": false, "a\u2028b": false, "\ufeffa": false,
	} {
		i := &info.Info{
			Path: text, Version: "2.0", Chunks: 1, Encryption: &rosbag.Encryption{Encryptor: text, User: text},
			Compression: []info.CompressionSum{{Name: rosbag.Compression(text), Chunks: 1}},
			Connections: []info.Connection{{Connection: &rosbag.Connection{Topic: text, Header: rosbag.Header{{Key: "type", Value: text}, {Key: "md5sum", Value: text}}}}},
			Topics:      []info.Topic{{Name: text, Type: text, MD5Sum: text}},
		}
		var b bytes.Buffer
		if err := i.WriteYAML(&b); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Path, Encryption, Compression any
			User                          any `yaml:"GPG key user"`
			Types                         []struct{ Type, MD5 any }
			Topics                        []struct{ Topic, Type any }
		}
		if err := yaml.Unmarshal(b.Bytes(), &got); err != nil || len(got.Types) != 1 || len(got.Topics) != 1 {
			t.Errorf("%q: %v\n%s", text, err, b.Bytes())
			continue
		}
		all := []any{got.Path, got.Encryption, got.Compression, got.User, got.Types[0].Type, got.Types[0].MD5, got.Topics[0].Topic, got.Topics[0].Type}
		for n, v := range all {
			if v != any(text) {
				t.Errorf("%q: value %d is %#v", text, n, v)
			}
		}
		if strings.Contains(b.String(), fmt.Sprintf("path: %s\n", text)) != plain {
			t.Errorf("%q: want quotes: %t\n%s", text, !plain, b.Bytes())
		}
	}
}
