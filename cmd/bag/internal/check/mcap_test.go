package check_test

import (
	"bytes"
	"testing"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/check"
	"github.com/gorosbag/gorosbag/internal/testkit/mcapfile"
)

// TestMCAPForms: a file in any form that the specification allows is sound, and gives all messages.
func TestMCAPForms(t *testing.T) {
	t.Parallel()
	for _, form := range mcapfile.Forms() {
		want := uint64(mcapfile.Messages)
		if form.Empty {
			want = 0
		}
		b := form.Make()
		r, err := check.Check(t.Context(), bytes.NewReader(b), int64(len(b)), check.Options{Deep: true})
		if err != nil || !r.Sound || r.Messages != want {
			t.Errorf("%+v: %+v, %v", form, r, err)
		}
	}
}
