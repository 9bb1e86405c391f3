package service_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
)

// TestUploadNotes: an object has the notes of its bag as metadata, which the server keeps in an
// extended attribute.
func TestUploadNotes(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100)
	rec := uploader(g, s, "/t", "-O", "out", "--note", "robot=r1", "--note", "site=hall 3: Köln", "--upload-wait", "1m")
	f.WaitDone()
	rec.Stop()
	value := make([]byte, 64<<10)
	n, err := unix.Getxattr(filepath.Join(s.Dir, "robot", "out.bag"), "user.metadata", value)
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]string
	if err := json.Unmarshal(value[:n], &found); err != nil || found["notes"] != "robot=r1&site=hall+3%3A+K%C3%B6ln" || found["sha256"] == "" {
		t.Errorf("%v, %s", err, value[:n])
	}
}
