package catalog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// TestDecodeIsBounded: a small file that unpacks to much takes no more memory than the bound.
func TestDecodeIsBounded(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(strings.Repeat("{\"bag\":\"b\"}\n", 10_000))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if lines, err := decode(b.Bytes(), 120_001+10_000*summaryBytes); err != nil || len(lines) != 10_000 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	for _, most := range []int64{3_000, 30_001 + 1_000*summaryBytes} {
		if lines, err := decode(b.Bytes(), most); !errors.Is(err, errFileTooLong) || len(lines) > 1_100 {
			t.Errorf("%d lines, %v", len(lines), err)
		}
	}
}

// TestDecodeNames: names in a file of a catalog, which others may have written, are paths below the place.
func TestDecodeNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"a.bag": true, "r1/a.bag": true, ".": true, // the place itself is a recording of ROS 2
		"/etc/passwd": false, "/": false, "": false, "../a.bag": false, "a/../../b.bag": false, "a//b.bag": false, "a/": false,
	} {
		data, err := encode([]*Summary{{Bag: "first.bag"}, {Bag: name}, {Bag: "last.bag"}})
		if err != nil {
			t.Fatal(err)
		}
		lines, err := decode(data, 1<<20)
		if (err == nil) != good || good != (len(lines) == 3) || !good && (len(lines) != 1 || !strings.Contains(err.Error(), "line 2: ")) {
			t.Errorf("%q: %d lines, %v", name, len(lines), err)
		}
	}
}

// FuzzDecode: decoding any file returns summaries or an error, and the summaries can be written again.
func FuzzDecode(f *testing.F) {
	good, err := encode([]*Summary{{Bag: "a.bag", Size: 5, Topics: []Topic{{"/t", "std_msgs/String", 2}}, Notes: map[string]string{"robot": "r2"}}, {Bag: "b.bag"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := decode(data, 1<<20)
		if err != nil && strings.TrimSpace(fmt.Sprint(err)) == "" {
			t.Error("an error without text")
		}
		again, err := encode(lines)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := decode(again, 1<<24); err != nil || len(same) != len(lines) {
			t.Errorf("%d lines, then %d, %v", len(lines), len(same), err)
		}
	})
}

// TestPacksCanBeRead: no file is written that decode refuses, however many topics the bags have.
func TestPacksCanBeRead(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine writes and reads large packs")
	testkit.SkipUnlessFull(t, "writes and reads packs of the largest size, for two seconds of processor time")
	t.Parallel()
	for _, test := range []struct {
		bags, topics int
		want         []int
	}{
		{0, 0, nil},
		{maxPackLines + 1, 1, []int{maxPackLines, 1}},
		{4, maxPackTopics/2 + 1, []int{1, 1, 1, 1}},
		{3, maxPackTopics / 2, []int{2, 1}},
		{2, maxPackTopics + 1, []int{1, 1}},
	} {
		all := make([]*Summary, test.bags)
		for i := range all {
			all[i] = &Summary{Topics: make([]Topic, test.topics)}
		}
		var got []int
		for lines := range packs(all) {
			got = append(got, len(lines))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d bags of %d topics: %v", test.bags, test.topics, got)
		}
	}
	var full []*Summary
	for i := range 1000 {
		s := &Summary{Bag: fmt.Sprintf("run_%d.bag", i), Topics: make([]Topic, maxPackTopics/1000)}
		for j := range s.Topics {
			s.Topics[j] = Topic{Topic: fmt.Sprintf("/robot_%d/camera_front_left/image_rect_color/compressed_%d", i, j), Type: "sensor_msgs/CompressedImage", Messages: 123456}
		}
		full = append(full, s)
	}
	data, err := encode(full)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := decode(data, maxFileBytes); err != nil || len(lines) != len(full) {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
