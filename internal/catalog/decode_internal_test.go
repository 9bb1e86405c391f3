package catalog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestDecodeIsBounded: a small file that unpacks to much takes no more memory than the bound.
func TestDecodeIsBounded(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(strings.Repeat("{}\n", 10_000))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if lines, err := decode(b.Bytes(), 30_001+10_000*summaryBytes); err != nil || len(lines) != 10_000 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	for _, most := range []int64{3_000, 30_001 + 1_000*summaryBytes} {
		if lines, err := decode(b.Bytes(), most); !errors.Is(err, errFileTooLong) || len(lines) > 1_100 {
			t.Errorf("%d lines, %v", len(lines), err)
		}
	}
}

// FuzzDecode: whatever a store has in a file of a catalog, it is decoded or an error, and what was
// decoded can be written again.
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
