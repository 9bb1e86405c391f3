package screen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/record/internal/screen"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestRecordSummaryOfSnapshots(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		s          control.Summary
		want, lack string
	}{
		"none taken": {control.Summary{Duration: time.Second}, "no bag: 0 messages, 0 B, 1s\n", "snapshots"},
		"alone": {control.Summary{
			File: "b.bag", Bytes: 3 << 20, Duration: time.Second,
			Files: []control.FileSummary{{File: "a.bag", Bytes: 1 << 20, Snapshot: true}, {File: "b.bag", Bytes: 2 << 20, Snapshot: true}},
		}, "all files: 0 messages, 3.0 MiB, of a recording of 1s; the last is b.bag\nsnapshots: 2, 3.0 MiB\n", " files, "},
		"one": {control.Summary{
			File: "a.bag", Bytes: 1 << 20, Duration: 24700 * time.Millisecond, Files: []control.FileSummary{{File: "a.bag", Bytes: 1 << 20, Snapshot: true}},
		}, "a.bag: 0 messages, 1.0 MiB, of a recording of 24.7s\nsnapshots: 1, 1.0 MiB\n", ", 24.7s"},
		"beside": {control.Summary{
			File: "b.bag", Bytes: 6 << 20, Duration: time.Second,
			Files: []control.FileSummary{{File: "a.bag"}, {File: "s.bag", Bytes: 5 << 20, Snapshot: true}, {File: "b.bag"}},
		}, "all files: 0 messages, 6.0 MiB, 1s; the last is b.bag\n2 files, 0 deleted; 0 latched messages repeated\nsnapshots: 1, 5.0 MiB\n", "3 files"},
		"one file": {control.Summary{
			File: "a.bag", Bytes: 1 << 20, Duration: time.Second, Files: []control.FileSummary{{File: "a.bag", Bytes: 1 << 20}},
		}, "a.bag: 0 messages, 1.0 MiB, 1s\nlost: ", "files"},
		"more than are listed": {control.Summary{
			File: "z.bag", Bytes: 7 << 20, Duration: time.Second, Files: []control.FileSummary{{File: "z.bag", Bytes: 1 << 20}}, Earlier: control.EarlierFiles{Files: 1},
		}, "all files: 0 messages, 7.0 MiB, 1s; the last is z.bag\n2 files, ", "z.bag: "},
	}
	for name, tc := range tests {
		got := screen.Summary(&tc.s)
		if !strings.Contains(got, tc.want) || strings.Contains(got, tc.lack) {
			t.Errorf("%s: want %q, not %q, in\n%s", name, tc.want, tc.lack, got)
		}
	}
}

func TestRecordSummaryOfTriggers(t *testing.T) {
	t.Parallel()
	s := control.Summary{Duration: time.Second, Triggers: []control.TriggerStats{
		{Option: "mark-on", Expression: `topic == "/a"`, Fired: 2},
		{Option: "stop-on", Expression: "topic in\n[\"/b\"]", Suppressed: 3, Refused: 4, Skipped: 5, Errors: 6, Silent: []string{"/b"}},
	}}
	got := screen.Summary(&s)
	for _, want := range []string{
		"\n--mark-on topic == \"/a\": fired 2 times\n",
		": fired 0 times, 3 more within the pause, 4 not carried out, 5 messages not looked at, 6 messages not evaluated because of errors, no message of /b\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "topic in\n") {
		t.Errorf("an expression takes two lines:\n%s", got)
	}
}

// TestRecordSummaryOfTheEnd: a recording that others have ended says so, with the reason that they gave.
func TestRecordSummaryOfTheEnd(t *testing.T) {
	t.Parallel()
	s := control.Summary{Duration: time.Second}
	if got := screen.Summary(&s); strings.Contains(got, "ended") {
		t.Errorf("nobody ended it, but:\n%s", got)
	}
	s.DiskFull = true
	if got, want := screen.Summary(&s), "\nended early: the disk is nearly full\n"; !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
	s.EndedBy = "user\x1b request"
	if got, want := screen.Summary(&s), "\nended by another node or the master: \"user\\x1b request\"\n"; !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
}

func TestRecordSummaryOfChunks(t *testing.T) {
	t.Parallel()
	s := control.Summary{Duration: time.Second, Chunks: map[rosbag.Compression]uint64{rosbag.CompressionNone: 1, rosbag.CompressionBZ2: 3}}
	if got, want := screen.Summary(&s), "\nchunks: 3 bz2, 1 none\n"; !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
	delete(s.Chunks, rosbag.CompressionNone)
	if got, want := screen.Summary(&s), "\nchunks: 3 bz2\n"; !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
	s.Chunks = nil
	if got := screen.Summary(&s); strings.Contains(got, "chunks") {
		t.Errorf("nothing was adaptive, but:\n%s", got)
	}
}

// TestRecordSummaryOfPeers: publishers that were held up, refused, or are gone long since
// are told of.
func TestRecordSummaryOfPeers(t *testing.T) {
	t.Parallel()
	s := control.Summary{Duration: time.Second, Topics: []control.TopicSummary{
		{Topic: "/a", Type: "a/A", HeldUp: 4210 * time.Millisecond, Publishers: make([]control.PublisherSummary, 2)},
		{Topic: "/b", Type: "a/A", Refused: 3},
		{Topic: "/c", Type: "a/A", Former: control.FormerPublishers{Count: 7, LinksLost: 5}},
		{Topic: "/d"},
		{Topic: "/h", Unlinked: control.UnlinkedPublishers{Count: 5, URIs: []string{"http://a:1/", "http://b:1/", "http://\n:1/"}}},
		{Topic: "/i", Unlinked: control.UnlinkedPublishers{Count: 1, URIs: []string{"http://c:1/"}}},
		{Topic: "/e", Waiting: control.WaitingMaster},
		{Topic: "/f", Waiting: control.WaitingMaster},
		{Topic: "/g", Waiting: control.WaitingPublisher},
	}}
	got := screen.Summary(&s)
	for _, want := range []string{
		"held up: /a (4.2s)\n", "refused, their connection headers hold too much memory: /b (3 publishers)\n",
		"not connected to, no file descriptor was left (ulimit -n): /h (5 publishers: http://a:1/, http://b:1/, \"http://\\n:1/\", and 2 more), /i (1 publisher: http://c:1/)\n",
		"broken links: former publishers on /c (5)\n", "7     0       0  /c : a/A",
		"/d  (no publisher was seen)\n", "/e  (not registered with the master yet)\n", "/g  (a publisher is listed, but was not reached)\n",
		"topics still waiting at the end: 2 to be registered with the master, 1 for publishers that are listed and were not reached\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if got := screen.Summary(&control.Summary{}); strings.Contains(got, "held up") || strings.Contains(got, "refused") || strings.Contains(got, "descriptor") || strings.Contains(got, "waiting") {
		t.Errorf("nothing happened, but:\n%s", got)
	}
}

// TestSummaryWithoutMaster: a recording that heard of no topic does not claim that nothing was lost.
func TestSummaryWithoutMaster(t *testing.T) {
	t.Parallel()
	for noMaster, want := range map[bool]string{true: "lost: unknown, for the master never answered\n", false: "lost: none\n"} {
		if got := screen.Summary(&control.Summary{NoMaster: noMaster}); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestRecordSummaryOfUnrecoveredFiles: what retention has deleted before it was recovered is a loss, and is told.
func TestRecordSummaryOfUnrecoveredFiles(t *testing.T) {
	t.Parallel()
	s := control.Summary{Duration: time.Second}
	if got := screen.Summary(&s); strings.Contains(got, "recovered") || s.Losses() != "" {
		t.Errorf("none was deleted, but: %q in\n%s", s.Losses(), got)
	}
	s.Unrecovered = 2
	if got, want := screen.Summary(&s), "\nfiles of crashed recorders, deleted before they were recovered: 2\n"; !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
	if want := "files of crashed recorders were deleted before they were recovered (2)"; s.Losses() != want {
		t.Errorf("losses: %q, want %q", s.Losses(), want)
	}
}
