package job

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBarWork: what is shown elsewhere needs no terminal, and ends.
func TestBarWork(t *testing.T) {
	t.Parallel()
	b := &Bar{}
	if _, _, ok := b.Work(); ok {
		t.Error("work before it has begun")
	}
	b.Add(5, Bytes("Reading a.bag", 200))
	if work, done, ok := b.Work(); !ok || done != 5 || work.Total != 200 {
		t.Errorf("%+v, %d done, %t", work, done, ok)
	}
	b.End()
	b.Add(5, Bytes("Reading a.bag", 200))
	if _, _, ok := b.Work(); ok {
		t.Error("work after the end")
	}
}

// TestBar draws the progress of work that takes long, and of no other.
func TestBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var drawn strings.Builder
		b := &Bar{w: &drawn}
		shows := func(name string, want ...string) {
			t.Helper()
			got := drawn.String()
			drawn.Reset()
			if len(want) == 0 && got != "" {
				t.Errorf("%s: draws %q", name, got)
			}
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("%s: draws %q, without %q", name, got, part)
				}
			}
		}
		reading := Bytes("Reading a.bag", 200)
		b.Add(50, reading)
		shows("just begun")
		time.Sleep(barDelay)
		b.Add(50, Bytes("Other", 7))
		shows("half", "Reading a.bag", " 50%")
		b.Add(50, reading)
		shows("drawn just now")
		time.Sleep(barInterval)
		b.Add(500, reading)
		shows("read twice", " 99%")
		b.Clear()
		drawn.Reset()
		b.Set(Work{Title: "Reading bags", Total: 4}, 1)
		shows("other work")
		time.Sleep(barDelay)
		b.Set(Work{Title: "Reading bags", Total: 4}, 3)
		shows("bags", "Reading bags", " 75%", "3/4")
		b.Hide()
		time.Sleep(barInterval)
		b.Set(Work{Title: "Listing"}, 3)
		drawn.Reset()
		time.Sleep(barDelay)
		b.Set(Work{Title: "Listing"}, 9)
		shows("unknown total", "Listing (9)")
		begun := Bytes("Verifying", 1<<30)
		b.Set(begun, 0)
		time.Sleep(barDelay)
		drawn.Reset()
		b.Set(begun, 1<<29)
		shows("bytes", "Verifying", " 50%", "/1.1 GB")
	})
	j := New(t.Context(), NewOutput(nil, nil, &strings.Builder{}), Options{})
	j.Bar.Set(Work{Title: "x", Total: 1}, 1)
	if j.Bar.w != nil {
		t.Error("draws on what is no terminal")
	}
}
