package bagfmt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestConnectionLimits writes connection headers at the edge of what is allowed:
// the writer refuses what the reader would, and the reader accepts all others.
func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	many := func(n int) (h rosbag.Header) {
		for i := range n {
			h = append(h, rosbag.Field{Key: fmt.Sprintf("key%d", i), Value: "v"})
		}
		return h
	}
	one := func(key string, size int) rosbag.Header {
		return rosbag.Header{{Key: key, Value: strings.Repeat("v", size)}}
	}
	tests := map[string]struct {
		topic string
		h     rosbag.Header
		bad   bool
		limit bool
	}{
		"all that the wire allows":   {"/a", many(fields.MaxFields), false, false},
		"one added to that":          {"/a", many(fields.MaxFields + 1), false, false},
		"too many":                   {"/a", many(fields.MaxFields + 14), true, true},
		"too many, no stock ones":    {"/a", slices.Concat(header("a/A"), many(fields.MaxFields+14)), true, true},
		"1 MiB definition":           {"/a", one("message_definition", 1<<20), false, false},
		"almost 2 MiB":               {"/a", one("message_definition", 2<<20-50), false, false},
		"2 MiB":                      {"/a", one("message_definition", 2<<20), true, true},
		"longest topic":              {strings.Repeat("a", 1<<20-40), header("a/A"), false, false},
		"topic too long":             {strings.Repeat("a", 1<<20), header("a/A"), true, true},
		"empty key":                  {"/a", one("", 1), true, false},
		"key with an equals sign":    {"/a", one("a=b", 1), true, false},
		"longest key":                {"/a", one(strings.Repeat("k", fields.MaxKeyBytes), 1), false, false},
		"key too long":               {"/a", one(strings.Repeat("k", fields.MaxKeyBytes+1), 1), true, false},
		"empty topic, empty header":  {"", nil, false, false},
		"values with any bytes":      {"/a", rosbag.Header{{Key: "a", Value: "=\x00\n\xff"}}, false, false},
		"the same key several times": {"/a", slices.Concat(one("a", 1), one("a", 2)), false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f memFile
			w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := w.AddConnection(tc.topic, tc.h)
			if (err != nil) != tc.bad || errors.Is(err, rosbag.ErrLimit) != tc.limit {
				t.Fatalf("AddConnection: %v", err)
			}
			if tc.bad { // nor as part of a chunk
				var b chunk.Builder
				b.Reset(nil)
				b.AppendRun(&rosbag.Connection{Topic: tc.topic, Header: tc.h}, rosbag.Time{Sec: 1}, frame("a"), 1)
				if err := w.WriteChunk(seal(t, &b, nil)); err == nil {
					t.Error("WriteChunk: no error")
				}
			} else if err := w.Write(c, rosbag.Time{Sec: 1}, []byte("a")); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			msgs, errs := readAll(t, f.b, rosbag.Query{})
			if len(errs) > 0 || !tc.bad && len(msgs) != 1 {
				t.Errorf("reader: %d messages, %v", len(msgs), errs)
			}
			if msgs, errs = scanAll(t, f.b); len(errs) > 0 || !tc.bad && len(msgs) != 1 {
				t.Errorf("scanner: %d messages, %v", len(msgs), errs)
			}
		})
	}
}
