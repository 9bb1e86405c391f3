package bagfmt_test

import (
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestFileThatChanges changes a bag after it was opened by a scan, as a program does that writes over it. Fewer
// messages than the scan has found come with an error.
func TestFileThatChanges(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"2.0": unindexed(t, readFile(t, "testdata/cpp_none.bag")),
		"1.2": readFile(t, "testdata/old/v12_unindexed_cpp.bag"),
		"1.1": readFile(t, "testdata/old/v11_rosrecord.bag"),
		"1.0": readFile(t, "testdata/old/v10_writer_order.bag"),
		"0":   readFile(t, "testdata/old/v0_strings.bag"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _ := readAny(t, b, rosbag.Query{})
			if len(before) == 0 {
				t.Fatal("no messages")
			}
			for at := 7; at < len(b); at += 31 {
				changed := slices.Clone(b)
				r, err := openAny(changed)
				if err != nil {
					t.Fatal(err)
				}
				changed[at] ^= 0xff
				messages, errs := 0, 0
				for _, err := range rosbag.Messages(r, rosbag.Query{}) {
					switch {
					case err == nil:
						messages++
					case !typed(err):
						t.Fatalf("byte %d: untyped error %v", at, err)
					default:
						if errs++; errs > len(b) {
							t.Fatalf("byte %d: errors without end", at)
						}
					}
				}
				if messages < len(before) && errs == 0 {
					t.Errorf("byte %d: %d of %d messages, without an error", at, messages, len(before))
				}
			}
		})
	}
}
