package intake_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// logged returns what is logged: the level, the first words, and the fields in the order of their keys.
func logged(n *intake.News) (lines []string) {
	core, logs := observer.New(zap.DebugLevel)
	n.Log(zap.New(core))
	for _, e := range logs.All() {
		text, _, _ := strings.Cut(e.Message, ":")
		fields := e.ContextMap()
		line := e.Level.String() + " " + text
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			line += fmt.Sprintf("; %s %v", key, fields[key])
		}
		lines = append(lines, line)
	}
	return lines
}

// TestLog: each kind of news has a line of its own, with what users need to act on it.
func TestLog(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		news intake.News
		want []string
	}{
		"nothing": {},
		"a short ring": {
			intake.News{Ring: &ring.Shortage{Wanted: time.Minute, Held: 1500*ms + 1, Bytes: 100}},
			[]string{"warn memory does not hold as much as snapshots are to begin with; bytes 100; held 1.5s; wanted 1m0s"},
		},
		"latched messages of one topic": {
			intake.News{Latched: latch.Shortage{Text: "no room", Topic: "/map"}}, []string{"warn no room; topic /map"},
		},
		"a publisher that lost much": {
			intake.News{Publishers: []account.PublisherNews{{Topic: "/t", Publisher: "/p", News: loss.News{Missed: 3, Lost: 2, Back: 1, Without: 1200*ms + 1}}}},
			[]string{
				"warn messages that were published have not reached us; messages 3; publisher /p; topic /t",
				"warn link to a publisher lost; publisher /p; times 2; topic /t; without 1.2s",
				"info a publisher is back; publisher /p; times 1; topic /t; without 1.2s",
			},
		},
		"a publisher that is back": {
			intake.News{Publishers: []account.PublisherNews{{Topic: "/t", Publisher: "/p", News: loss.News{Back: 1, Without: time.Second}}}},
			[]string{"info a publisher is back; publisher /p; times 1; topic /t; without 1s"},
		},
		"waits": {
			intake.News{Waits: []account.WaitNews{{Topic: "/a", Took: 5 * time.Second}, {Topic: "/b", Took: 6 * time.Second, Over: true}}},
			[]string{"warn a publisher is held up, as --overflow block asks; for 5s; topic /a", "info a publisher goes on; for 6s; topic /b"},
		},
		"drops": {
			intake.News{Drops: []account.Drops{
				{Topic: "/a", Cause: control.DropBufferFull, Messages: 7},
				{Topic: "/b", Cause: control.DropOversize, Messages: 1, BufferNeeded: 5<<20 + 1},
				{Topic: "/c", Cause: control.DropOversize, Messages: 1, BufferNeeded: 5 << 20},
			}},
			[]string{
				"warn messages dropped; cause " + control.DropBufferFull.String() + "; messages 7; topic /a",
				"warn messages dropped; cause " + control.DropOversize.String() + "; messages 1; needed -b 6; topic /b",
				"warn messages dropped; cause " + control.DropOversize.String() + "; messages 1; needed -b 5; topic /c",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(test.want, logged(&test.news)); d != "" {
				t.Error(d)
			}
		})
	}
}
