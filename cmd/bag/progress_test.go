package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBar draws the progress of work that takes long, and of no other.
func TestBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var drawn strings.Builder
		b := &bar{w: &drawn}
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
		reading := work{"Reading a.bag", 200, true}
		b.add(50, reading)
		shows("just begun")
		time.Sleep(barDelay)
		b.add(50, work{"Other", 7, true})
		shows("half", "Reading a.bag", " 50%")
		b.add(50, reading)
		shows("drawn just now")
		time.Sleep(barInterval)
		b.add(500, reading)
		shows("read twice", " 99%")
		b.clear()
		drawn.Reset()
		b.set(work{title: "Reading bags", total: 4}, 1)
		shows("other work")
		time.Sleep(barDelay)
		b.set(work{title: "Reading bags", total: 4}, 3)
		shows("bags", "Reading bags", " 75%", "3/4")
		b.hide()
		time.Sleep(barInterval)
		b.set(work{title: "Listing"}, 3)
		drawn.Reset()
		time.Sleep(barDelay)
		b.set(work{title: "Listing"}, 9)
		shows("unknown total", "Listing (9)")
		begun := work{"Verifying", 1 << 30, true}
		b.begin(begun)
		time.Sleep(barDelay)
		drawn.Reset()
		b.set(begun, 1<<29)
		shows("bytes", "Verifying", " 50%", "/1.1 GB")
	})
	quiet := newBar(&strings.Builder{}, false)
	quiet.set(work{title: "x", total: 1}, 1)
	if quiet.w != nil {
		t.Error("draws on what is no terminal")
	}
}
