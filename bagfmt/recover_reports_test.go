package bagfmt_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt/recovery"
)

// moreDamages are of the same bag as damages. Several places are damaged in each.
func moreDamages(tb testing.TB, full []byte) map[string]func([]byte) []byte {
	tb.Helper()
	chunks, index, infos := recordsOf(tb, full, 5), recordsOf(tb, full, 4), recordsOf(tb, full, 6)
	mid := chunks[1]
	after := mid.dataAt + 4 + len(mid.data)
	incomplete := func(b []byte) []byte { return setU32(setU32(b, mid.fields["size"], 0), mid.dataAt, 0)[:after] }
	lost := func(b []byte) []byte { return setU32(b, mid.dataAt+4+50, 0xffffffff) }
	head, section := recordsOf(tb, full, 3)[0].fields, recordsOf(tb, full, 7)[0].off
	counts := func(b []byte, conns, chunks uint32) []byte { // and nothing else of the index section
		return setU32(setU32(b, head["conn_count"], conns), head["chunk_count"], chunks)[:section]
	}
	return map[string]func([]byte) []byte{
		"no index, two connections": func(b []byte) []byte { return counts(b, 2, 0) },
		"no index, two chunks":      func(b []byte) []byte { return counts(b, 0, 2) },
		"no index, none expected":   func(b []byte) []byte { return counts(b, 0, 0) },
		"no index there": func(b []byte) []byte {
			return counts(setU64(b, head["index_pos"], uint64(section)+9), 0, 0)
		},
		"lost, chunk info of the end": func(b []byte) []byte { return setU64(lost(b), infos[1].fields["chunk_pos"], uint64(len(b))) },
		"incomplete":                  incomplete,
		"incomplete, lost":            func(b []byte) []byte { return incomplete(lost(b)) },
		"size 0":                      func(b []byte) []byte { return setU32(b, mid.fields["size"], 0) },
		"lost, without index data":    func(b []byte) []byte { return slices.Delete(lost(b), after, chunks[2].off) },
		"lost, another chunk info":    func(b []byte) []byte { return setU32(lost(b), infos[1].dataAt+4, 77) },
		"another chunk info":          func(b []byte) []byte { return setU32(b, infos[1].dataAt+4, 77) },
		"index data of more":          func(b []byte) []byte { return setU32(b, index[3].fields["count"], 3) },
		"length into the next":        func(b []byte) []byte { return setU32(b, mid.dataAt, uint32(len(mid.data)+200)) },
		"length and codec":            func(b []byte) []byte { return setU32(setU32(b, mid.dataAt, 7), mid.fields["compression"], 0x78787878) },
		"first chunk twice damaged":   func(b []byte) []byte { return setU32(setU32(b, chunks[0].dataAt, 3), chunks[0].dataAt+4+90, 5) },
		"connections unknown, lost": func(b []byte) []byte {
			b = slices.Delete(lost(b), recordsOf(tb, full, 7)[0].off, len(b))
			return slices.Delete(b, chunks[0].off, mid.off)
		},
		"deferred, then cut": func(b []byte) []byte {
			return slices.Delete(b, chunks[0].off, mid.off)[:recordsOf(tb, full, 7)[1].off-(mid.off-chunks[0].off)]
		},
	}
}

// TestRecoverReports compares what the reports say with testdata/recover_reports.txt.
func TestRecoverReports(t *testing.T) {
	t.Parallel()
	var s strings.Builder
	for _, comp := range compressions {
		full := sampleBag(t, comp)
		all := moreDamages(t, full)
		for name, d := range damages(t, full) {
			all[name] = d.damage
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			_, r, err := recoverBag(t, all[name](slices.Clone(full)))
			fmt.Fprintf(&s, "%s, %s: %s\n", comp, name, reportText(&r, err))
		}
	}
	const path = "testdata/recover_reports.txt"
	if *update {
		if err := os.WriteFile(path, []byte(s.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), s.String()); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
}

// reportText is all of a report.
func reportText(r *recovery.Report, err error) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d messages, %d connections; %d chunks, %d copied, %d repeated; %d dropped, %d bytes skipped, lossy %v, error %v\n",
		r.Messages, r.Connections, r.Chunks, r.Copied, r.Repeated, r.Dropped, r.SkippedBytes, r.Lossy(), err)
	for _, x := range r.Skipped {
		fmt.Fprintf(&s, "    skipped %d bytes at %d, %d dropped, trailing %v: %v\n", x.Bytes, x.Offset, x.Dropped, x.Trailing, x.Err)
	}
	for _, err := range r.Repairs {
		fmt.Fprintf(&s, "    repaired %v\n", err)
	}
	return s.String()
}
