package face_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestBags: the finished bags are listed without their directories, described as by gobag info, and sent whole or in
// part. What is deleted, or was never there, is not found.
func TestBags(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../../bagfmt/testdata/cpp_lz4.bag")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "rücken \"1\".bag")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.UnixMilli(1_748_682_000_500)
	ui, f := recordingTo()
	f.bags = []control.Bag{
		{ID: 0, Name: "/bags/a_0.bag", Bytes: 10, Deleted: true},
		{ID: 1, Name: name, Bytes: int64(len(content)), Messages: 7, Begun: begun, Ended: begun.Add(time.Minute), Pinned: true},
		{ID: 2, Name: "/bags/s.bag", Bytes: 20, Begun: begun, Ended: begun, Snapshot: true},
	}
	c := webtest.Serve(t, ui)
	list := strings.TrimSpace(c.Get("/api/v1/bags").Body)
	const want = `[{"id":2,"name":"s.bag","bytes":20,"messages":null,"begun":1748682000.5,"seconds":0,"snapshot":true,"pinned":false},` +
		`{"id":1,"name":"rücken \"1\".bag","bytes":5741,"messages":7,"begun":1748682000.5,"seconds":60,"snapshot":false,"pinned":true}]`
	if list != want {
		t.Errorf("got\n%s\nwant\n%s", list, want)
	}
	if a := c.Get("/api/v1/bags/1"); a.Status != http.StatusOK || !strings.Contains(a.Body, `"path":"rücken \"1\".bag"`) {
		t.Errorf("info: %d %s", a.Status, a.Body)
	}
	whole := c.Get("/api/v1/bags/1/file")
	if whole.Status != http.StatusOK || whole.Body != string(content) {
		t.Errorf("file: %d, %d bytes, want %d", whole.Status, len(whole.Body), len(content))
	}
	if got := whole.Header.Get("Content-Disposition"); got != "attachment; filename*=utf-8''r%C3%BCcken%20%221%22.bag" {
		t.Errorf("file name: %s", got)
	}
	part := c.Get("/api/v1/bags/1/file", "Range: bytes=10-19", "If-Range: "+whole.Header.Get("ETag"))
	if part.Status != http.StatusPartialContent || part.Body != string(content[10:20]) {
		t.Errorf("range: %d %q", part.Status, part.Body)
	}
	for _, path := range []string{"0", "0/file", "3", "x", "-1/file"} {
		if a := c.Get("/api/v1/bags/" + path); a.Status != http.StatusNotFound || !strings.Contains(a.Body, control.ErrNoBag.Error()) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}
