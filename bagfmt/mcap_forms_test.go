package bagfmt_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/testkit/mcapfile"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestMCAPAllForms: files in all forms that the specification allows give all messages, are not damaged, and stay so.
func TestMCAPAllForms(t *testing.T) {
	t.Parallel()
	for _, form := range mcapfile.Forms() {
		b := form.Make()
		want := uint64(mcapfile.Messages)
		if form.Empty {
			want = 0
		}
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Errorf("%+v: %v", form, err)
			continue
		}
		info := r.Info()
		if info.Messages != want || len(r.Connections()) != 1 && !form.Empty {
			t.Errorf("%+v: %d messages, %d connections", form, info.Messages, len(r.Connections()))
		}
		for _, err := range info.Damage {
			if !errors.Is(err, rosbag.ErrUnindexed) {
				t.Errorf("%+v: %v", form, err)
			}
		}
		n := uint64(0)
		for m, err := range rosbag.Messages(r, rosbag.Query{}) {
			if err != nil || string(m.Data()) != "\x01\x00\x00\x00m" {
				t.Errorf("%+v: message %d: %v, %v", form, n, m, err)
				break
			}
			n++
		}
		if n != want {
			t.Errorf("%+v: %d messages by cursor", form, n)
		}
		s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for n = 0; ; n++ {
			if _, err = s.Next(); err != nil {
				break
			}
		}
		if n != want || err.Error() != "EOF" {
			t.Errorf("%+v: %d messages from a pipe, %v", form, n, err)
		}
		var out bytes.Buffer
		w, err := bagfmt.NewWriter(&out, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if report, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{}); err != nil || report.Messages != want || report.Lossy() {
			t.Errorf("%+v: recovered %+v, %v", form, report, err)
		}
	}
}
