package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

// mcapWithExtras writes an MCAP file as another program does: with an attachment, a metadata record and
// a topic that is not of ROS 1, if json is set. Without index it is as if its writer had been killed.
func mcapWithExtras(t *testing.T, json, index bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: true, ChunkSize: 200, IncludeCRC: true, Compression: mcap.CompressionZSTD})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	check(w.WriteHeader(&mcap.Header{Profile: "ros1", Library: "test"}))
	check(w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/String", Encoding: "ros1msg", Data: []byte("string data\n")}))
	check(w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: "/a", MessageEncoding: "ros1"}))
	check(w.WriteChannel(&mcap.Channel{ID: 2, Topic: "/json", MessageEncoding: "json"}))
	check(w.WriteAttachment(&mcap.Attachment{Name: "map.png", MediaType: "image/png", DataSize: 5, Data: strings.NewReader("12345")}))
	check(w.WriteMetadata(&mcap.Metadata{Name: "site", Metadata: map[string]string{"a": "b"}}))
	for n := range 20 {
		check(w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: uint64(100+n) * 1e9, Data: []byte("\x02\x00\x00\x00hi")}))
		if json && n == 10 {
			check(w.WriteMessage(&mcap.Message{ChannelID: 2, LogTime: uint64(100+n) * 1e9, Data: []byte("{}")}))
		}
	}
	end := b.Len()
	check(w.Close())
	if index {
		return b.Bytes()
	}
	return b.Bytes()[:end]
}

// growing is a standard error that lets a file grow when it is first written to.
type growing struct {
	bytes.Buffer
	path string
	b    []byte
}

// Write implements io.Writer.
func (g *growing) Write(b []byte) (int, error) {
	if len(g.b) > 0 {
		f, err := os.OpenFile(g.path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		_, err = f.Write(g.b)
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, err
		}
		g.b = nil
	}
	return g.Buffer.Write(b)
}

// TestReindexGrowingMCAP leaves an MCAP file to its recorder, which grows after it was found to end early.
func TestReindexGrowingMCAP(t *testing.T) {
	t.Parallel()
	whole := mcapWithExtras(t, false, true)
	start := mcapWithExtras(t, false, false)
	path := write(t, "live.mcap", start)
	stderr := growing{path: path, b: whole[len(start):]}
	code := run(t.Context(), []string{"reindex", path}, job.NewOutput(strings.NewReader(""), io.Discard, &stderr))
	if code != 1 || !strings.Contains(stderr.String(), "is still being written") {
		t.Errorf("code %d, %s", code, stderr.String())
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, whole) {
		t.Errorf("the file was replaced by one of %d bytes, %v", len(after), err)
	}
}
