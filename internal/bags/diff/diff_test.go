package diff

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/internal/ros/msgdiff"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

var seed = flag.Uint64("seed", 1, "of the random tests")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is a file in memory.
type file struct{ b []byte }

func (f *file) Write(p []byte) (int, error) {
	f.b = append(f.b, p...)
	return len(p), nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) { return copy(f.b[off:], p), nil }

// said is a std_msgs/String of a test bag.
type said struct {
	topic, node string
	ms          int
	text        string
}

const definition = "string data\n"

func headerFor(topic, node string) rosbag.Header {
	return rosbag.Header{
		{Key: "callerid", Value: node},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: topic},
		{Key: "type", Value: "std_msgs/String"},
	}
}

// write makes a bag with connections in the order of their first messages.
func write(t *testing.T, list []said) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	conns := make(map[[2]string]*rosbag.Connection)
	for _, m := range list {
		key := [2]string{m.topic, m.node}
		if conns[key] == nil {
			if conns[key], err = w.AddConnection(m.topic, headerFor(m.topic, m.node)); err != nil {
				t.Fatal(err)
			}
		}
		data := append(binary.LittleEndian.AppendUint32(nil, uint32(len(m.text))), m.text...)
		if err := w.Write(conns[key], rosbag.Time{Sec: 1000}.Add(time.Duration(m.ms)*time.Millisecond), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

func open(t *testing.T, b []byte) *bagfmt.Reader {
	t.Helper()
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// numbered says n messages, each after some milliseconds.
func numbered(topic, node string, n, from, each int) (all []said) {
	for i := range n {
		all = append(all, said{topic, node, from + i*each, fmt.Sprint(topic, node, i)})
	}
	return all
}

// compared compares with room for so many messages, and returns the number of passes.
func compared(t *testing.T, a, b []byte, limit int, o Options) (r *report.Report, passes int) {
	t.Helper()
	c := &comparison{ctx: t.Context(), o: o, bags: [2]rosbag.Source{open(t, a), open(t, b)}, limit: limit}
	r, err := c.compare()
	if err != nil {
		t.Fatal(err)
	}
	return r, c.passes
}

// text is the report without the names of the bags.
func text(t *testing.T, r *report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTotals: each bag has its own number of topics and messages.
func TestTotals(t *testing.T) {
	t.Parallel()
	a, b := write(t, slices.Concat(numbered("/x", "/n", 10, 0, 1), numbered("/z", "/n", 1, 0, 1))), write(t, slices.Concat(numbered("/x", "/n", 9, 0, 1), numbered("/y", "/n", 3, 0, 1)))
	r, _ := compared(t, a, b, 100, Options{})
	wantA, wantB := report.Bag{Version: "2.0", Topics: 2, Messages: 11}, report.Bag{Version: "2.0", Topics: 2, Messages: 12}
	if d := cmp.Diff([]report.Bag{wantA, wantB}, []report.Bag{r.A, r.B}); d != "" || r.Compared != 9 {
		t.Errorf("%d messages compared (-want +got):\n%s", r.Compared, d)
	}
}

// TestFarApart has topics in another order in the other bag: those that cannot be remembered
// are compared in a pass of their own.
func TestFarApart(t *testing.T) {
	t.Parallel()
	const n = 1000
	x, y, z := numbered("/x", "/n", n, 0, 1), numbered("/y", "/n", n, n, 1), numbered("/z", "/n", n, 2*n, 1)
	a := write(t, slices.Concat(x, y, z))
	turned := slices.Concat(numbered("/z", "/n", n, 0, 1), numbered("/y", "/n", n, n, 1), numbered("/x", "/n", n, 2*n, 1))
	for _, tc := range []struct {
		limit  int
		passes int
	}{{4 * n, 1}, {n, 3}, {50, 3}, {2, 3}} {
		r, passes := compared(t, a, write(t, turned), tc.limit, Options{Details: 3})
		if !r.Same || r.Compared != 3*n || passes != tc.passes {
			t.Errorf("limit %d: %d passes, want %d; %s", tc.limit, passes, tc.passes, text(t, r))
		}
		changed := slices.Clone(turned)
		changed[n/2].text += "!"
		r, _ = compared(t, a, write(t, changed), tc.limit, Options{Details: 3})
		if r.Same || r.Topics[2].Changed != 1 || r.Topics[2].Equal != n-1 || len(r.Differences) != 1 {
			t.Errorf("limit %d: %s", tc.limit, text(t, r))
		}
	}
}

// TestLimit has bags of which nothing agrees, and one that is half of the other.
func TestLimit(t *testing.T) {
	t.Parallel()
	const n = 2000
	a := write(t, slices.Concat(numbered("/x", "/n", n, 0, 1), numbered("/y", "/n", n, n, 1)))
	other := numbered("/x", "/n", n, 0, 1)
	for i := range other {
		other[i].text = "other " + other[i].text
	}
	for _, limit := range []int{10, 100, 10 * n} {
		r, _ := compared(t, a, write(t, slices.Concat(other, numbered("/y", "/n", n, n, 1))), limit, Options{})
		if r.Same || r.Topics[0].Changed != n || r.Topics[1].Differs {
			t.Errorf("limit %d: %s", limit, text(t, r))
		}
		r, _ = compared(t, a, write(t, slices.Concat(numbered("/x", "/n", n/2, 0, 1), numbered("/y", "/n", n, n, 1))), limit, Options{})
		if r.Same || r.Topics[0].OnlyA != n/2 || r.Topics[0].Equal != n/2 || r.Topics[1].Differs {
			t.Errorf("half, limit %d: %s", limit, text(t, r))
		}
	}
}

// TestPieces has one publisher with more messages than are kept: what comes out is the same.
func TestPieces(t *testing.T) {
	t.Parallel()
	const n = 5000
	list := numbered("/a_long_topic", "/a_node", n, 0, 1)
	missing, doubled, changed := slices.Clone(list), slices.Clone(list), slices.Clone(list)
	missing = slices.DeleteFunc(missing, func(m said) bool { return m.ms%97 == 50 })
	doubled = slices.Insert(doubled, 4000, doubled[3999])
	changed[10].text, changed[4900].text = "this one has changed", "and this one"
	for name, tc := range map[string]struct {
		b    []said
		want report.Counts
	}{
		"missing":      {missing, report.Counts{Equal: uint64(len(missing)), OnlyA: uint64(n - len(missing))}},
		"a gap":        {slices.Delete(slices.Clone(list), 2000, 2100), report.Counts{Equal: n - 100, OnlyA: 100}},
		"changed":      {changed, report.Counts{Equal: n - 2, Changed: 2}},
		"half":         {list[:n/2], report.Counts{Equal: n / 2, OnlyA: n / 2}},
		"doubled":      {doubled, report.Counts{Equal: n, OnlyB: 1}},
		"nothing left": {numbered("/a_long_topic", "/b_node", n, 0, 1), report.Counts{Changed: n}},
	} {
		for _, limit := range []int{maxKept, 1000, 400} {
			want := report.Topic{Name: "/a_long_topic", Differs: true, MessagesA: n, MessagesB: uint64(len(tc.b)), Counts: tc.want}
			r, passes := compared(t, write(t, list), write(t, tc.b), limit, Options{Details: 3})
			got := r.Topics[0]
			got.Notes, got.OtherTimes, got.MaxTime = nil, 0, 0
			if !reflect.DeepEqual(got, want) || passes != 1 {
				t.Errorf("%s, limit %d: %d passes, %+v, want %+v", name, limit, passes, got, want)
			}
			if name == "doubled" && (len(r.Differences) < 1 || r.Differences[0].Kind != report.KindOnlyB || r.Differences[0].B.Number != 4001 || !r.Differences[0].Repeats) {
				t.Errorf("limit %d: %+v", limit, r.Differences)
			}
			if name == "changed" && (r.Differences[1].A.Number != 4901 || len(r.Differences[1].Fields) != 1) {
				t.Errorf("limit %d: %+v", limit, r.Differences)
			}
		}
	}
}

// TestWrongCounts has a bag whose index counts less messages than there are.
func TestWrongCounts(t *testing.T) {
	t.Parallel()
	list := slices.Concat(numbered("/x", "/n", 20, 0, 2), numbered("/y", "/n", 20, 1, 2))
	a := write(t, list)
	b := slices.Clone(a)
	// The last record is the chunk info of the last chunk: connections and counts.
	at := len(b) - 4
	if count := binary.LittleEndian.Uint32(b[at:]); count < 2 || count > 20 {
		t.Fatalf("a count of %d", count)
	}
	b[at]--
	for _, pair := range [][2][]byte{{a, b}, {b, a}, {b, b}} {
		r, _ := compared(t, pair[0], pair[1], maxKept, Options{Details: 3})
		if !r.Same || r.Compared != 40 {
			t.Error(text(t, r))
		}
	}
}

// TestPublishers has bags that name publishers differently.
func TestPublishers(t *testing.T) {
	t.Parallel()
	one := slices.Concat(numbered("/t", "/a", 50, 0, 10), numbered("/t", "/b", 50, 5, 10))
	slices.SortFunc(one, func(x, y said) int { return x.ms - y.ms })
	named := func(a, b string) []said {
		list := slices.Clone(one)
		for i := range list {
			list[i].node = map[string]string{"/a": a, "/b": b}[list[i].node]
		}
		return list
	}
	late := slices.Clone(one)
	for i := range late {
		if late[i].node == "/b" {
			late[i].ms += 7 // between other messages of /a
		}
	}
	tests := map[string]struct {
		b    []said
		same bool
		note string
	}{
		"as they are":        {one, true, ""},
		"one stands for all": {named("/play", "/play"), true, "compared as one stream, because its publishers are /a, /b in A and /play in B"},
		"one of them":        {named("/a", "/a"), true, "publishers are /a, /b in A and /a in B"},
		"exchanged":          {named("/b", "/a"), false, ""},
		"interleaved":        {late, true, ""}, // each publisher has its order
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			huge := time.Hour
			r, _ := compared(t, write(t, one), write(t, tc.b), maxKept, Options{Times: &huge})
			notes := strings.Join(r.Topics[0].Notes, "\n")
			if r.Same != tc.same || !strings.Contains(notes, tc.note) || (notes == "") != (tc.note == "") {
				t.Errorf("want %v, %q:\n%s", tc.same, tc.note, text(t, r))
			}
		})
	}
	r, _ := compared(t, write(t, numbered("/t", "/a", 3, 0, 1)), write(t, numbered("/t", "/a", 3, 0, 1)), maxKept, Options{})
	if len(r.Topics[0].Notes) > 0 {
		t.Errorf("one publisher each: %v", r.Topics[0].Notes)
	}
}

// TestMoved puts messages into another order: each is in both bags, so that none has changed.
func TestMoved(t *testing.T) {
	t.Parallel()
	for round := range uint64(50) {
		r := rand.New(rand.NewPCG(*seed, round))
		list := numbered("/a_long_topic", "/a_node", 500, 0, 1)
		other := slices.Clone(list)
		for range 1 + r.IntN(5) {
			from, reach := r.IntN(450), 2+r.IntN(48)
			r.Shuffle(reach, func(i, j int) { other[from+i].text, other[from+j].text = other[from+j].text, other[from+i].text })
		}
		got, _ := compared(t, write(t, list), write(t, other), maxKept, Options{Details: r.IntN(1000)})
		x := got.Topics[0]
		if x.Changed+x.OnlyA+x.OnlyB > 0 || x.Equal+x.Moved != 500 || x.Moved == 0 == !slices.Equal(list, other) {
			t.Fatalf("seed %d, round %d: %+v", *seed, round, x)
		}
		// A message that is in one bag only stays that.
		other[250].text = "and nowhere else"
		got, _ = compared(t, write(t, list), write(t, other), maxKept, Options{Details: 1000})
		if x = got.Topics[0]; x.Changed+x.OnlyA != 1 || x.OnlyA != x.OnlyB || x.Equal+x.Moved != 499 {
			t.Fatalf("seed %d, round %d: %+v", *seed, round, x)
		}
		for _, d := range got.Differences {
			if alone := d.Kind == report.KindOnlyA || d.Kind == report.KindOnlyB; (d.A == nil || d.B == nil) != alone || d.Kind == report.KindChanged && len(d.Fields) == 0 {
				t.Fatalf("seed %d, round %d: %+v", *seed, round, d)
			}
		}
		if n := x.Changed + x.Moved + x.OnlyA + x.OnlyB + x.OtherTimes; uint64(len(got.Differences))+got.More != n {
			t.Fatalf("seed %d, round %d: %d details and %d more of %d", *seed, round, len(got.Differences), got.More, n)
		}
	}
}

// TestEqualTimes finds the message that is shown among others of its time.
func TestEqualTimes(t *testing.T) {
	t.Parallel()
	list := numbered("/x", "/n", 9, 0, 0)
	list[2].text = list[1].text
	other := slices.Clone(list)
	other[5].text = "other"
	other = append(other, other[8], said{"/x", "/n", 1, other[8].text})
	r, _ := compared(t, write(t, list), write(t, other), maxKept, Options{Details: 10})
	if len(r.Differences) != 3 {
		t.Fatal(text(t, r))
	}
	if d := r.Differences[0]; len(d.Fields) != 1 || d.Fields[0].A != `"/x/n5"` || d.Fields[0].B != `"other"` || d.A.Number != 6 {
		t.Errorf("%+v", d)
	}
	for i, d := range r.Differences[1:] {
		if d.Kind != report.KindOnlyB || !d.Repeats || d.B.Number != uint64(10+i) {
			t.Errorf("%+v at %v", d, d.B)
		}
	}
}

// TestEnd ends comparisons with their context, and with what Damaged says.
func TestEnd(t *testing.T) {
	t.Parallel()
	a := write(t, numbered("/x", "/n", 5000, 0, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, open(t, a), open(t, a), Options{Workers: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	damaged := slices.Clone(a)
	damaged[6000] ^= 1 // in a chunk, which has a checksum
	stop := errors.New("stop")
	var sides []Side
	_, err := Compare(t.Context(), open(t, a), open(t, damaged), Options{Damaged: func(s Side, err error) error {
		if sides = append(sides, s); !errors.Is(err, rosbag.ErrCorrupt) {
			t.Errorf("damage: %v", err)
		}
		return stop
	}})
	if !errors.Is(err, stop) || !slices.Equal(sides, []Side{B}) {
		t.Errorf("%v, told of %v", err, sides)
	}
	told := 0
	r, err := Compare(t.Context(), open(t, damaged), open(t, damaged), Options{Damaged: func(Side, error) error {
		told++
		return nil
	}})
	if err != nil || !r.Same || r.Complete || told != 2 {
		t.Errorf("%v, told %d times: %+v", err, told, r)
	}
}

// TestDamageOfOneBag: a comparison is complete if all of both bags could be read.
func TestDamageOfOneBag(t *testing.T) {
	t.Parallel()
	sound := write(t, numbered("/x", "/n", 100, 0, 1))
	torn := sound[:len(sound)/2]
	for name, tt := range map[string]struct {
		a, b []byte
		want bool
	}{"none": {sound, sound, true}, "A": {torn, sound, false}, "B": {sound, torn, false}, "both": {torn, torn, false}} {
		if r, _ := compared(t, tt.a, tt.b, maxKept, Options{}); r.Complete != tt.want {
			t.Errorf("damage of %s: complete: %v", name, r.Complete)
		}
	}
}

// TestCopies: a bag whose messages come at the times of the other one is a copy, if these are half of them or more.
func TestCopies(t *testing.T) {
	t.Parallel()
	list := numbered("/x", "/n", 10, 0, 10)
	shifted := func(n int) []said {
		other := slices.Clone(list)
		for i := range n {
			other[9-i].ms++
		}
		return other
	}
	for name, tt := range map[string]struct {
		a, b []said
		want bool
	}{
		"equal":                      {list, list, true},
		"a part":                     {list, list[3:6], true},
		"half":                       {list, shifted(5), true},
		"less than half":             {list, shifted(6), false},
		"one message":                {list, shifted(9), false},
		"none":                       {list, shifted(10), false},
		"one after the other":        {list[:5], list[5:], false},
		"the other topic goes on":    {append(numbered("/y", "/n", 1, 200, 1), list...), numbered("/x", "/n", 1, 150, 1), false},
		"longer than what is looked": {numbered("/x", "/n", 2000, 0, 10), numbered("/x", "/n", 600, 0, 10), true},
		"of longer ones":             {numbered("/x", "/n", 2000, 0, 10), append(numbered("/x", "/n", 400, 1, 10), numbered("/x", "/n", 1000, 4000, 10)...), false},
	} {
		a, b := open(t, write(t, tt.a)), open(t, write(t, tt.b))
		keep := func(c *rosbag.Connection) bool { return c.Topic == "/x" }
		for _, bags := range [][2]rosbag.Source{{a, b}, {b, a}} {
			if got := copies(t.Context(), bags, keep); got != tt.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}

// TestCompareTexts: long texts are shown from shortly before where they differ.
func TestCompareTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 10)
	for _, tt := range []struct{ a, b, wantA, wantB string }{
		{"", "x", `""`, `"x"`},
		{long[:30] + "a", long[:30] + "b", `"` + long[:30] + `a"`, `"` + long[:30] + `b"`},
		{long + "a", long + "b", `..."` + long[:20] + `a"`, `..."` + long[:20] + `b"`},
		{long[:20] + "a" + long, long[:20] + "b" + long, `"` + long[:20] + "a" + long[:39] + `..."`, `"` + long[:20] + "b" + long[:39] + `..."`},
		{"ä" + long[:19] + "a" + long, "ä" + long[:19] + "b" + long, `..."` + long[:19] + "a" + long[:40] + `..."`, `..."` + long[:19] + "b" + long[:40] + `..."`},
	} {
		if a, b := compareTexts(tt.a, tt.b); a != tt.wantA || b != tt.wantB {
			t.Errorf("%s and %s,\nwant %s and %s", a, b, tt.wantA, tt.wantB)
		}
	}
}

// TestCompareValues: what differs is said so that it can be told apart.
func TestCompareValues(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	words := func(words ...uint32) (b []byte) {
		for _, w := range words {
			b = le.AppendUint32(b, w)
		}
		return b
	}
	for _, tt := range []struct {
		typeA, typeB string
		a, b         []byte
		want         report.Change
	}{
		{"time x", "time x", words(1, 5), words(1, 999_999_999), report.Change{Path: "x", A: "1.000000005", B: "1.999999999"}},
		{"time x", "time x", words(1, 1_000_000_000), words(2, 0), report.Change{Path: "x", A: "1 s and 1000000000 ns", B: "2.000000000"}},
		{"duration x", "duration x", words(1, 5), words(1, 0), report.Change{Path: "x", A: "1.000000005s", B: "1s"}},
		{"int32 x", "uint32 x", words(1), words(2), report.Change{Path: "x", A: "1 (int32)", B: "2 (uint32)"}},
		{"int32 x", "int32 y", words(1), words(1), report.Change{Path: "x", A: "1", B: "absent"}},
		{"bool x", "bool x", []byte{1}, []byte{2}, report.Change{Path: "x", A: "true", B: "true", Note: "by other bytes"}},
	} {
		a, errA := rosmsg.Parse("p/A", tt.typeA)
		b, errB := rosmsg.Parse("p/A", tt.typeB)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		var all []report.Change
		for d, err := range msgdiff.All(a.Message(tt.a), b.Message(tt.b)) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, compareValues(d))
		}
		if len(all) == 0 || all[0] != tt.want {
			t.Errorf("%s and %s: %+v, want %+v", tt.typeA, tt.typeB, all, tt.want)
		}
	}
}

// TestTimes measures times around their shift.
func TestTimes(t *testing.T) {
	t.Parallel()
	list := numbered("/x", "/n", 101, 0, 10)
	for i := range list {
		list[i].ms += 3_600_000
	}
	list[17].ms += 3
	list[20].ms += 2
	r, _ := compared(t, write(t, numbered("/x", "/n", 101, 0, 10)), write(t, list), maxKept, Options{})
	want := report.Times{Shift: report.Seconds(time.Hour), P99: report.Seconds(2 * time.Millisecond), Max: report.Seconds(3 * time.Millisecond)}
	got := r.Times
	if at := got.Furthest; at == nil || at.Number != 18 || at.Topic != "/x" {
		t.Errorf("furthest: %+v", at)
	}
	if got.Furthest = nil; !r.Same || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSample takes percentiles of more messages than are kept.
func TestSample(t *testing.T) {
	t.Parallel()
	var s, small spread
	const n = 20 * maxSamples
	for i := range n {
		s.add(time.Duration(i), uint64(i), rosbag.Time{})
	}
	for range n / 100 { // and a few that are much later
		small.add(time.Hour, 0, rosbag.Time{})
	}
	p := percentiles(small.appendSample(s.appendSample(nil)), 0.25, 0.5, 0.98, 1)
	for i, want := range []float64{0.25 * 1.01 * n, 0.5 * 1.01 * n, 0.98 * 1.01 * n} {
		if got := float64(p[i]); got < want-0.03*n || got > want+0.03*n {
			t.Errorf("percentile %d: %.0f, want %.0f", i, got, want)
		}
	}
	if p[3] != time.Hour || s.count != n || s.most.by != n-1 || s.least.by != 0 {
		t.Errorf("%v, %d, %v, %v", p[3], s.count, s.most, s.least)
	}
}
