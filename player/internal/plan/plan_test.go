package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// madePlan is a plan of what the options select, and what it logged.
func madePlan(t *testing.T, o Options, bags ...[]byte) (*Plan, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	o.Log = zap.New(core)
	p, err := New(t.Context(), o, testplay.OpenBags(t, bags...), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	return p, logs
}

// namesOf lists the topics of a plan.
func namesOf(p *Plan) []string {
	var names []string
	for _, t := range p.Topics {
		names = append(names, string(t.Name))
	}
	return names
}

func TestNames(t *testing.T) {
	t.Parallel()
	messages := testplay.Concat(
		testplay.Series(testplay.Conn{Topic: "/a"}, "a", 0), testplay.Series(testplay.Conn{Topic: "b"}, "b", 1), testplay.Series(testplay.Conn{Topic: "/from"}, "c", 2))
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	tests := map[string]struct {
		prefix string
		want   []string
	}{
		"no prefix":           {"", []string{"/a", "/b", "/to"}},
		"plain concatenation": {"/foo", []string{"/foo/a", "/foob", "/foo/from"}},
		"relative":            {"ns/", []string{"/ns//a", "/ns/b", "/ns//from"}}, // cleaning up is the node's part
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := madePlan(t, Options{Prefix: tc.prefix}, bag)
			if d := cmp.Diff(tc.want, namesOf(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Only topics with a message in the window are offered, also when the window cuts
// a chunk, and latched ones that have a message before it.
func TestOnlyTopicsOfTheWindow(t *testing.T) {
	t.Parallel()
	messages := testplay.Concat(
		testplay.Series(testplay.Conn{Topic: "/before"}, "a", 0), testplay.Series(testplay.Conn{Topic: "/latched", Latching: true}, "l", 1),
		testplay.Series(testplay.Conn{Topic: "/in"}, "b", 10, 20), testplay.Series(testplay.Conn{Topic: "/after"}, "c", 31),
		testplay.Series(testplay.Conn{Topic: "/around"}, "d", 0, 40))
	slices.SortStableFunc(messages, func(x, y testplay.Message) int { return int(x.At - y.At) })
	for _, chunk := range []int{0, 1, 120, 200} {
		p, _ := madePlan(t, Options{Start: 10, Duration: 20}, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...))
		if d := cmp.Diff([]string{"/latched", "/in"}, namesOf(p)); d != "" {
			t.Errorf("chunks of %d (-want +got):\n%s", chunk, d)
		}
	}
}

func TestLastStamp(t *testing.T) {
	t.Parallel()
	messages := testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 10, 20, 30), testplay.Series(testplay.ConnB, "b", 5, 35))
	for _, chunk := range []int{0, 1} {
		bag := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...)
		other := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, testplay.Series(testplay.ConnA, "x", 1, 2)...)
		for _, tc := range []struct {
			o    Options
			want time.Duration
		}{
			{Options{}, 35},
			{Options{Topics: []string{"/a"}}, 30},
			{Options{Duration: 29}, 20},
			{Options{Duration: 30}, 30},
			{Options{Duration: 4}, 2},
		} {
			p, _ := madePlan(t, tc.o, other, bag)
			if got := p.Last.Sub(testplay.Base); got != tc.want {
				t.Errorf("chunks of %d, %v for %v: last at %v, want %v", chunk, tc.o.Topics, tc.o.Duration, got, tc.want)
			}
		}
	}
}

// Case does not matter in an md5sum, and a definition may come from any
// connection of the topic.
func TestSameTopicTwice(t *testing.T) {
	t.Parallel()
	upper := testplay.Conn{Topic: "/t", CallerID: "/x", MD5Sum: "992CE8A1687CEC8C8BD883EC73CA41D1", NoDefinition: true}
	latched := testplay.Conn{Topic: "t", CallerID: "/y", Latching: true}
	p, logs := madePlan(t, Options{}, testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(upper, "a", 0), testplay.Series(latched, "b", 1))...))
	if logs.Len() != 0 || len(p.Topics) != 1 {
		t.Fatalf("%d topics, log %v", len(p.Topics), logs.All())
	}
	if x := p.Topics[0]; x.Definition != testplay.StringDefinition || !x.Latching {
		t.Errorf("topic %+v", x)
	}
}

func TestLatchedBefore(t *testing.T) {
	t.Parallel()
	l1 := testplay.Conn{Topic: "/tf_static", CallerID: "/n1", Latching: true}
	l2 := testplay.Conn{Topic: "/tf_static", CallerID: "/n2", Latching: true}
	bag1 := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, testplay.Concat(
		testplay.Series(l1, "n1-", 0, 5, 10), testplay.Series(l2, "n2-", 1), testplay.Series(testplay.ConnA, "a", 0, 20),
		testplay.Series(testplay.Conn{Topic: "/late", Latching: true}, "late", 10, 15))...)
	bag2 := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(l2, "next-n2-", 7, 8, 11)...)
	p, _ := madePlan(t, Options{Start: 10}, bag1, bag2)
	var got []string
	for _, l := range p.Latched {
		got = append(got, string(l.Frame[8:]))
	}
	// Neither what is in the window nor what a later message has replaced.
	if d := cmp.Diff([]string{"n1-1", "next-n2-1"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Planning needs times only: it must not read the data of big chunks.
func TestPlanReadsIndexesOnly(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	data := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, big, 0, 10, 20, 30)...)
	b, f := testplay.OpenFaulty(t, data)
	read := 0
	f.Fault = func(_ int64, n int) error {
		read += n
		return nil
	}
	p, err := New(t.Context(), Options{Start: 5, Duration: 20, Log: zap.NewNop()}, []*source.Recording{b}, testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Last.Sub(testplay.Base); got != 20 || read > 256<<10 {
		t.Errorf("last at %v; %d bytes read of a bag of %d", got, read, len(data))
	}
}

// A latched topic without a message in the window or before it is not offered:
// --wait-for-subscribers must not wait for subscribers of a topic without messages.
func TestLatchedTopicAfterTheWindow(t *testing.T) {
	t.Parallel()
	late := testplay.Conn{Topic: "/late", Latching: true}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 10, 20), testplay.Series(late, "l", 40))...)
	p, _ := madePlan(t, Options{Start: 5, Duration: 20}, bag)
	if d := cmp.Diff([]string{"/a"}, namesOf(p)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Who is in a window is known by the chunks that lie in it, by the indexes of those that
// it cuts, and by their infos where there are too many of these.
func TestConnectionsInWindow(t *testing.T) {
	t.Parallel()
	var messages []testplay.Message
	for i := range 40 { // chunks of /a and /b, one millisecond apart each
		at := time.Duration(i) * 10 * time.Millisecond
		messages = append(messages, testplay.Message{Conn: testplay.ConnA, At: at, Text: "a"}, testplay.Message{Conn: testplay.ConnB, At: at + 5*time.Millisecond, Text: "b"})
	}
	small := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 2 * 30}, messages...)
	whole := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	tests := map[string]struct {
		bag             []byte
		start, duration time.Duration
		want            []string
	}{
		"all":                  {small, 0, 0, []string{"/a", "/b"}},
		"one message":          {small, 10 * time.Millisecond, 1, []string{"/a"}},
		"the other":            {small, 15 * time.Millisecond, 1, []string{"/b"}},
		"exactly one":          {small, 11 * time.Millisecond, 4 * time.Millisecond, []string{"/b"}},
		"between two":          {small, 11 * time.Millisecond, 3 * time.Millisecond, nil},
		"from the last on":     {small, 395 * time.Millisecond, 0, []string{"/b"}},
		"in one chunk":         {whole, 11 * time.Millisecond, 4 * time.Millisecond, []string{"/b"}},
		"in one chunk, start":  {whole, 395 * time.Millisecond, 0, []string{"/b"}},
		"in one chunk, both":   {whole, 10 * time.Millisecond, 5 * time.Millisecond, []string{"/a", "/b"}},
		"in one chunk, nobody": {whole, 11 * time.Millisecond, 3 * time.Millisecond, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Log: zap.NewNop(), Start: tc.start, Duration: tc.duration}
			p, err := New(t.Context(), o, testplay.OpenBags(t, tc.bag), testplay.Resolve)
			if errors.Is(err, ErrNoMessages) != (tc.want == nil) {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, namesOf(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// The last stamp is that of the last message to be played, in whichever chunk it is.
func TestLastStampOfBags(t *testing.T) {
	t.Parallel()
	long := testplay.Message{Conn: testplay.ConnB, At: 0, Text: "b"} // its chunk lasts longest
	tests := map[string]struct {
		o     Options
		chunk int
		bags  [][]testplay.Message
		want  time.Duration
	}{
		"one bag":              {Options{}, 1, [][]testplay.Message{testplay.Series(testplay.ConnA, "a", 10, 20, 30)}, 30},
		"the first bag":        {Options{}, 1, [][]testplay.Message{testplay.Series(testplay.ConnA, "a", 10, 50), testplay.Series(testplay.ConnA, "a", 20, 40)}, 50},
		"the second bag":       {Options{}, 1, [][]testplay.Message{testplay.Series(testplay.ConnA, "a", 10, 40), testplay.Series(testplay.ConnA, "a", 20, 50)}, 50},
		"of another topic":     {Options{Topics: []string{"/a"}}, 0, [][]testplay.Message{testplay.Concat(testplay.Series(testplay.ConnA, "a", 10, 20), testplay.Series(testplay.ConnB, "b", 90))}, 20},
		"in chunks of others":  {Options{Topics: []string{"/a"}}, 1, [][]testplay.Message{testplay.Concat(testplay.Series(testplay.ConnA, "a", 10, 20), testplay.Series(testplay.ConnB, "b", 80, 90))}, 20},
		"the end of a window":  {Options{Duration: 25}, 1, [][]testplay.Message{testplay.Series(testplay.ConnA, "a", 10, 20, 35, 40)}, 35},
		"in a cut chunk":       {Options{Duration: 24}, 0, [][]testplay.Message{testplay.Series(testplay.ConnA, "a", 10, 20, 35, 40)}, 20},
		"not sorted":           {Options{}, 1, [][]testplay.Message{testplay.Concat(testplay.Series(testplay.ConnA, "a", 30, 20, 10), testplay.Series(testplay.ConnB, "b", 25))}, 30},
		"start of a window":    {Options{Start: 15}, 1, [][]testplay.Message{testplay.Concat([]testplay.Message{long}, testplay.Series(testplay.ConnA, "a", 10, 20))}, 20},
		"start, in one chunk":  {Options{Start: 15}, 0, [][]testplay.Message{testplay.Concat([]testplay.Message{long}, testplay.Series(testplay.ConnA, "a", 10, 20))}, 20},
		"one message, no more": {Options{Start: 10}, 1, [][]testplay.Message{testplay.Concat([]testplay.Message{long}, testplay.Series(testplay.ConnA, "a", 10))}, 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bags [][]byte
			for _, messages := range tc.bags {
				bags = append(bags, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: tc.chunk}, messages...))
			}
			p, _ := madePlan(t, tc.o, bags...)
			if got := p.Last.Sub(testplay.Base); got != tc.want {
				t.Errorf("the last message is at %d, want %d", got, tc.want)
			}
		})
	}
}

// However many chunks a bag has, planning reads the indexes of those that the window cuts,
// and of the one that ends last.
func TestPlanReadsFewIndexes(t *testing.T) {
	t.Parallel()
	var messages []testplay.Message
	for i := range 60 {
		messages = append(messages, testplay.Message{Conn: testplay.ConnA, At: time.Duration(i) * time.Millisecond, Text: strings.Repeat("x", 100<<10)})
	}
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, messages...)
	for name, o := range map[string]Options{
		"all": {}, "a window": {Start: 10 * time.Millisecond, Duration: 30 * time.Millisecond}, "a window that ends between chunks": {Start: 10 * time.Millisecond, Duration: 30*time.Millisecond + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := testplay.OpenFaulty(t, data)
			reads := 0
			f.Fault = func(int64, int) error {
				reads++
				return nil
			}
			o.Log = zap.NewNop()
			if _, err := New(t.Context(), o, []*source.Recording{b}, testplay.Resolve); err != nil {
				t.Fatal(err)
			}
			if reads > 4 {
				t.Errorf("%d reads of a bag of %d chunks", reads, b.Source().NumSpans())
			}
		})
	}
}

// If more than maxProbed chunks lie partly in the window, their connections count as present.
func TestWindowThatCutsManyChunks(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{maxProbed, maxProbed + 1} {
		var messages []testplay.Message
		for i := range cut { // a chunk each: the second message fills it
			at := time.Duration(i)
			messages = append(messages, testplay.Message{Conn: testplay.ConnA, At: at, Text: "a"}, testplay.Message{Conn: testplay.ConnB, At: time.Second + at, Text: strings.Repeat("b", 4000)})
		}
		p, _ := madePlan(t, Options{Start: 500 * time.Millisecond}, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 4000}, messages...))
		if n := p.Bags[0].Source.NumSpans(); n != cut {
			t.Fatalf("%d chunks, want %d", n, cut)
		}
		want := []string{"/b"}
		if cut > maxProbed {
			want = []string{"/a", "/b"}
		}
		if d := cmp.Diff(want, namesOf(p)); d != "" {
			t.Errorf("%d chunks are cut (-want +got):\n%s", cut, d)
		}
	}
}

// Planning ends with its context: it reads no index after that.
func TestPlanCanceled(t *testing.T) {
	t.Parallel()
	var messages []testplay.Message
	for i := range maxProbed { // a chunk each, which the window cuts
		at := time.Duration(i)
		messages = append(messages, testplay.Message{Conn: testplay.ConnA, At: at, Text: "a"}, testplay.Message{Conn: testplay.ConnB, At: time.Second + at, Text: strings.Repeat("b", 4000)})
	}
	b, f := testplay.OpenFaulty(t, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 4000}, messages...))
	ctx, cancel := context.WithCancel(t.Context())
	reads := 0
	f.Fault = func(int64, int) error {
		reads++
		cancel()
		return nil
	}
	_, err := New(ctx, Options{Log: zap.NewNop(), Start: 500 * time.Millisecond}, []*source.Recording{b}, testplay.Resolve)
	if !errors.Is(err, context.Canceled) || reads > 2 { // one index takes two reads
		t.Errorf("%d reads, %v", reads, err)
	}
}

// Several kinds of names and types, each with one message.
func selectBag(t *testing.T) []byte {
	t.Helper()
	image := testplay.Conn{Type: "sensor_msgs/Image", MD5Sum: "060021388200f6f0f447d0fcd9c64743"}
	left, right := image, image
	left.Topic, right.Topic = "/cam1/image", "/cam2/image"
	var all []testplay.Message
	for i, c := range []testplay.Conn{{Topic: "/a"}, {Topic: "/ab"}, {Topic: "/a/b"}, {Topic: "rel"}, left, right} {
		all = append(all, testplay.Series(c, "m", time.Duration(i))...)
	}
	return testplay.MakeBag(t, bagfmt.WriterOptions{}, all...)
}

func TestSelection(t *testing.T) {
	t.Parallel()
	bag := selectBag(t)
	tests := map[string]struct {
		o    Options
		want []string
		warn string
	}{
		"all":               {Options{}, []string{"/a", "/ab", "/a/b", "/rel", "/cam1/image", "/cam2/image"}, ""},
		"names":             {Options{Topics: []string{"a", "/rel"}}, []string{"/a", "/rel"}, ""},
		"glob":              {Options{Topics: []string{"/a*"}}, []string{"/a", "/ab"}, ""},
		"glob, no slash":    {Options{Topics: []string{"a*"}}, []string{"/a", "/ab"}, ""},
		"any level":         {Options{Topics: []string{"/a**"}}, []string{"/a", "/ab", "/a/b"}, ""},
		"expression":        {Options{Topics: []string{"/a.?"}, Regex: true}, []string{"/a", "/ab"}, ""},
		"expression, whole": {Options{Topics: []string{"/a"}, Regex: true}, []string{"/a"}, ""},
		"type":              {Options{Types: []string{"sensor_msgs/*"}}, []string{"/cam1/image", "/cam2/image"}, ""},
		"name and type":     {Options{Topics: []string{"/a"}, Types: []string{"sensor_msgs/Image"}}, []string{"/a", "/cam1/image", "/cam2/image"}, ""},
		"exclude":           {Options{Exclude: []string{"/cam*/image", "a**"}}, []string{"/rel"}, ""},
		"exclude is strong": {Options{Topics: []string{"/a", "/ab"}, Exclude: []string{"/ab"}}, []string{"/a"}, ""},
		"exclude by regex":  {Options{Exclude: []string{".*[ab]$", "rel"}, Regex: true}, []string{"/cam1/image", "/cam2/image"}, ""},
		"misspelled":        {Options{Topics: []string{"/a", "/typo"}}, []string{"/a"}, "map[option:topics values:[/typo]]"},
		"nearly right":      {Options{Topics: []string{"/a", "/cam1/imag"}}, []string{"/a"}, "map[nearest:[/cam1/image /cam2/image] option:topics"},
		"type like a topic": {Options{Topics: []string{"/a"}, Types: []string{"/cam1/imag"}}, []string{"/a"}, "map[option:type"},
		"no such type":      {Options{Topics: []string{"/a"}, Types: []string{"x/*"}}, []string{"/a"}, "[x/*]"},
		"no such exclude":   {Options{Topics: []string{"/a"}, Exclude: []string{"/typo"}}, []string{"/a"}, "[/typo]"},
		"no such rename":    {Options{Topics: []string{"/a"}, Rename: []string{"/typo=/x"}}, []string{"/a"}, "[/typo=/x]"},
		"rename":            {Options{Topics: []string{"/a", "/ab"}, Rename: []string{"a=/x"}}, []string{"/x", "/ab"}, ""},
		"rename wildcards":  {Options{Types: []string{"sensor_msgs/*"}, Rename: []string{"/cam*/image=/old/cam*"}}, []string{"/old/cam1", "/old/cam2"}, ""},
		"rename groups": {
			Options{Topics: []string{"/cam.*"}, Regex: true, Rename: []string{"/cam(.)/(.*)=/$2/$1"}},
			[]string{"/image/1", "/image/2"},
			"",
		},
		"first rename counts":   {Options{Topics: []string{"/a"}, Rename: []string{"/a=/x", "/*=/y"}}, []string{"/x"}, "[/*=/y]"},
		"rename, prefix, remap": {Options{Topics: []string{"/a"}, Rename: []string{"/a=om"}, Prefix: "/fr"}, []string{"/to"}, ""},
		"rename, then remap":    {Options{Topics: []string{"/a"}, Rename: []string{"/a=/from"}}, []string{"/to"}, ""},
		"two become one":        {Options{Topics: []string{"/a", "/ab"}, Rename: []string{"/ab=/a"}}, []string{"/a"}, ""},
		"two types, one name":   {Options{Topics: []string{"/a", "/cam1/*"}, Rename: []string{"/cam1/image=/a"}}, []string{"/a"}, "/a and /cam1/image were recorded as two: give them two names"},
		"rename a type":         {Options{Topics: []string{"/a"}, Rename: []string{"/a:std_msgs/Int32=/b", "/a:std_msgs/*=/c"}}, []string{"/c"}, "[/a:std_msgs/Int32=/b]"},
		"renamed to no name":    {Options{Topics: []string{"/a", "/ab"}, Rename: []string{"/ab=/-"}}, []string{"/a"}, `name "/-"`},
		"deny another":          {Options{Topics: []string{"/a"}, Deny: []string{"/cam**"}}, []string{"/a"}, ""},
		"deny recorded name":    {Options{Topics: []string{"/a"}, Prefix: "/old", Deny: []string{"/a"}}, []string{"/old/a"}, ""},
		"deny between":          {Options{Topics: []string{"/a"}, Rename: []string{"/a=/from"}, Deny: []string{"/from"}}, []string{"/to"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, logs := madePlan(t, tc.o, bag)
			if d := cmp.Diff(tc.want, namesOf(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var said strings.Builder
			for _, e := range logs.All() {
				fmt.Fprintln(&said, e.Message, e.ContextMap())
			}
			if got := said.String(); (got != "") != (tc.warn != "") || !strings.Contains(got, tc.warn) {
				t.Errorf("logged %q, want %q", got, tc.warn)
			}
		})
	}
}

func TestBadSelection(t *testing.T) {
	t.Parallel()
	bag := selectBag(t)
	tests := map[string]struct {
		o    Options
		want error
		text string
	}{
		"expression":    {Options{Topics: []string{"("}, Regex: true}, control.ErrOption, "option Topics expression"},
		"rename":        {Options{Rename: []string{"/a"}}, control.ErrOption, "option Rename"},
		"no topic":      {Options{Topics: []string{"/typo"}}, ErrNoMessages, "--topics /typo: nothing in the bags fits; gobag info lists what is in them"},
		"no type":       {Options{Types: []string{"x/*"}}, ErrNoMessages, "--type x/*: nothing in the bags fits; gobag info lists what is in them"},
		"neither":       {Options{Topics: []string{"/typo"}, Types: []string{"x/*"}}, ErrNoMessages, "--topics /typo, --type x/*: nothing in the bags fits; "},
		"nearly right":  {Options{Topics: []string{"/cam1/imag"}}, ErrNoMessages, "--topics /cam1/imag: nothing in the bags fits: did you mean /cam1/image"},
		"all excluded":  {Options{Exclude: []string{"**"}}, ErrNoMessages, ErrNoMessages.Error()},
		"after":         {Options{Start: time.Second}, ErrNoMessages, ErrNoMessages.Error()},
		"one is there":  {Options{Topics: []string{"/a", "/typo"}, Start: time.Second}, ErrNoMessages, ErrNoMessages.Error()},
		"type is there": {Options{Topics: []string{"/typo"}, Types: []string{"sensor_msgs/*"}, Start: time.Second}, ErrNoMessages, ErrNoMessages.Error()},
		"denied":        {Options{Deny: []string{"/a", "/cam*/*"}}, nil, "not to be played: /a, /cam1/image, /cam2/image."},
		"denied name":   {Options{Topics: []string{"/a"}, Rename: []string{"/a=/cmd_vel"}, Deny: []string{"cmd_vel"}}, nil, "not to be played: /cmd_vel (recorded as /a)."},
		"denied, last":  {Options{Rename: []string{"/a=/-"}, Deny: []string{"/ab"}}, nil, "not to be played: /ab. Leave them out with -x: --deny forbids them"},
		"denied prefix": {Options{Topics: []string{"/a"}, Prefix: "/robot", Deny: []string{"/robot/**"}}, nil, "not to be played: /robot/a (recorded as /a)."},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.o.Log = zap.NewNop()
			p, err := New(t.Context(), tc.o, testplay.OpenBags(t, bag), testplay.Resolve)
			if err == nil {
				err = p.Denied()
			}
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), tc.text) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.text)
			}
			var denied *DenyError
			if tc.want == nil && !errors.As(err, &denied) {
				t.Errorf("got %T, want a *DenyError", err)
			}
		})
	}
}

// The stamps of a topic are found by its definition, if that is of its messages.
func TestStampsOfTopics(t *testing.T) {
	t.Parallel()
	stamped, err := rosmsg.Parse("a/Stamped", "Header header"+testplay.HeaderBlock)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		*Topic
		stamps bool
		err    string
	}{
		"header":                 {&Topic{Type: "a/Stamped", MD5Sum: stamped.MD5Sum(), Definition: "Header header" + testplay.HeaderBlock}, true, ""},
		"any md5sum":             {&Topic{Type: "a/Stamped", MD5Sum: "*", Definition: "Header header" + testplay.HeaderBlock}, true, ""},
		"none":                   {&Topic{Type: testplay.StringType, MD5Sum: testplay.StringMD5, Definition: testplay.StringDefinition}, false, ""},
		"empty":                  {&Topic{Type: "std_msgs/Empty", MD5Sum: rosmsg.EmptyMD5Sum}, false, ""},
		"tf by its md5sum":       {&Topic{Type: "tf/tfMessage", MD5Sum: testplay.TFMD5}, true, ""},
		"clock by its md5sum":    {&Topic{Type: "rosgraph_msgs/Clock", MD5Sum: stdmsg.ClockMD5}, true, ""},
		"no definition":          {&Topic{Type: "a/Stamped", MD5Sum: stamped.MD5Sum()}, false, "no message definition of a/Stamped"},
		"of another type":        {&Topic{Type: "a/Stamped", MD5Sum: testplay.TFMD5, Definition: "Header header" + testplay.HeaderBlock}, false, "has md5sum " + stamped.MD5Sum()},
		"that cannot be read":    {&Topic{Type: "a/Stamped", MD5Sum: testplay.TFMD5, Definition: "Heder header"}, false, `no definition of "a/Heder"`},
		"without the block":      {&Topic{Type: "a/Stamped", MD5Sum: stamped.MD5Sum(), Definition: "Header header"}, true, ""},
		"without an own block":   {&Topic{Type: "a/Stamped", MD5Sum: stamped.MD5Sum(), Definition: "b/Stamp header"}, false, `no definition of "b/Stamp"`},
		"with a name of no type": {&Topic{Type: "\x00", MD5Sum: testplay.TFMD5, Definition: "bool b"}, false, "no name for a type"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := tc.headerStamps()
			if (h != nil) != tc.stamps || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("has stamps: %v, error %v", h != nil, err)
			}
		})
	}
}

func TestFew(t *testing.T) {
	t.Parallel()
	got := Abbreviate(strings.Fields(strings.Repeat("x ", 25)))
	if len(got) != 9 || got[8] != "and 17 more" {
		t.Errorf("%d: %v", len(got), got)
	}
	if got := Abbreviate(got[:8]); len(got) != 8 {
		t.Errorf("%d: %v", len(got), got)
	}
}

func TestNothingSelected(t *testing.T) {
	t.Parallel()
	full := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0, time.Second)...)
	empty := testplay.MakeBag(t, bagfmt.WriterOptions{})
	tests := map[string]struct {
		bag []byte
		o   Options
	}{
		"empty bag":            {empty, Options{}},
		"no such topic":        {full, Options{Topics: []string{"/x"}}},
		"start after the end":  {full, Options{Start: time.Hour}},
		"between the messages": {full, Options{Start: 1, Duration: 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.o.Log = zap.NewNop()
			if _, err := New(t.Context(), tc.o, testplay.OpenBags(t, tc.bag), testplay.Resolve); !errors.Is(err, ErrNoMessages) {
				t.Errorf("got %v, want ErrNoMessages", err)
			}
		})
	}
}

// TestState: of each publisher the latest message counts, and among equal times the one that came last.
func TestState(t *testing.T) {
	t.Parallel()
	route := func(id rosbag.ConnID, p *Publisher) *Route {
		return &Route{Conn: &rosbag.Connection{ID: id}, Publisher: p}
	}
	one, two := &Publisher{}, &Publisher{Number: 1}
	var s State
	add := func(r *Route, sec uint32, frame string) {
		s.Add(r, &rosbag.Message{Time: rosbag.Time{Sec: sec}, Frame: []byte(frame)})
	}
	add(route(2, one), 5, "first")
	add(route(3, one), 5, "second")
	add(route(4, one), 4, "older")
	add(route(1, two), 5, "of another publisher")
	unplayable := &Route{Reason: "refused"}
	add(unplayable, 9, "skipped")
	var got []string
	for _, l := range s.Sorted() {
		got = append(got, string(l.Frame))
	}
	if d := cmp.Diff([]string{"of another publisher", "second"}, got); d != "" || unplayable.Skipped.Load() != 1 {
		t.Errorf("skipped %d, (-want +got):\n%s", unplayable.Skipped.Load(), d)
	}
}

// A topic that the graph refuses takes its latched message and its publishers with it.
func TestRefuse(t *testing.T) {
	t.Parallel()
	latched := func(topic, caller string) testplay.Conn {
		return testplay.Conn{Topic: topic, CallerID: caller, Latching: true}
	}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(
		testplay.Series(latched("/map", "/mapper"), "m", 0), testplay.Series(latched("/pose", "/n1"), "p", 1), testplay.Series(testplay.ConnA, "a", 10))...)
	p, _ := madePlan(t, Options{Start: 5}, bag)
	if d := cmp.Diff([]string{"/mapper", "/n1"}, p.Callers()); d != "" {
		t.Errorf("callers (-want +got):\n%s", d)
	}
	p.Refuse(map[*Topic]string{p.Topic("/map"): "a test"})
	if d := cmp.Diff([]string{"/n1"}, p.Callers()); d != "" {
		t.Errorf("callers (-want +got):\n%s", d)
	}
	if len(p.Latched) != 1 || p.Latched[0].Route.Topic.Name != "/pose" {
		t.Errorf("latched: %+v", p.Latched)
	}
	for r := range p.routes() {
		if want := map[bool]uint64{true: 1}[r.Conn.Topic == "/map"]; r.Skipped.Load() != want {
			t.Errorf("%s: %d messages skipped, want %d", r.Conn.Topic, r.Skipped.Load(), want)
		}
	}
}

// Play pauses for a topic if it pauses for any of its connections.
func TestPauseTopics(t *testing.T) {
	t.Parallel()
	bag := selectBag(t)
	for name, tc := range map[string]struct {
		topics []string
		want   []string
	}{
		"none": {nil, nil},
		"one":  {[]string{"ab"}, []string{"/x"}},
		"all":  {[]string{"/a", "/ab"}, []string{"/x"}},
	} {
		p, _ := madePlan(t, Options{PauseTopics: tc.topics, Rename: []string{"/a=/x", "/ab=/x", "/a/b=/x"}}, bag)
		var got []string
		for _, x := range p.Topics {
			if x.Pauses {
				got = append(got, string(x.Name))
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" || p.Pauses != (tc.want != nil) {
			t.Errorf("%s: pauses %v, (-want +got):\n%s", name, p.Pauses, d)
		}
	}
}

// TestClockTopics: the messages of all topics, or of those that are named, bring the clock forward.
func TestClockTopics(t *testing.T) {
	t.Parallel()
	bag := selectBag(t)
	for named, want := range map[string][]string{"": {"/a", "/a/b", "/ab", "/cam1/image", "/cam2/image", "rel"}, "ab": {"/ab"}, "/a": {"/a"}, "/none": nil} {
		var o Options
		if named != "" {
			o.ClockTopics = []string{named}
		}
		p, _ := madePlan(t, o, bag)
		var got []string
		for r := range p.routes() {
			if r.Clocked && !slices.Contains(got, r.Conn.Topic) {
				got = append(got, r.Conn.Topic)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", named, got, want)
		}
	}
}

// The reader copies only frames that get stamps and are published once.
func TestCopyStamped(t *testing.T) {
	t.Parallel()
	bag := testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{{Topic: "/a"}, {Topic: "/latched"}, {Topic: "/plain"}, {Topic: "/refused"}})
	p, _ := madePlan(t, Options{Rename: []string{"/refused=/-"}}, bag)
	for r := range p.routes() {
		if r.Topic != nil && r.Conn.Topic != "/plain" {
			r.Topic.Stamps = new(rosmsg.HeaderStamps)
		}
	}
	p.copyStamped()
	var got []string
	for r := range p.routes() {
		if r.Private {
			got = append(got, r.Conn.Topic)
		}
	}
	if d := cmp.Diff([]string{"/a"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A name is counted once, and no name is none.
func TestCountNames(t *testing.T) {
	t.Parallel()
	again, nobody := testplay.Conn{Topic: "/a", CallerID: "/n1", NoDefinition: true}, testplay.Conn{Topic: "/a"}
	p, _ := madePlan(t, Options{}, testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(
		testplay.Series(testplay.ConnA, "a", 0), testplay.Series(again, "b", 1), testplay.Series(nobody, "c", 2))...))
	counts, err := p.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := counts.ByTopic[p.Topic("/a")]
	if n.Messages != 3 || !slices.Equal(n.Recorded.List, []string{"/a"}) || !slices.Equal(n.Callers.List, []string{"/n1"}) {
		t.Errorf("%d messages, recorded as %v by %v", n.Messages, n.Recorded.List, n.Callers.List)
	}
}

// listsAll is a bag whose spans list all connections, also with a count of zero.
type listsAll struct{ rosbag.Indexed }

func (s listsAll) Span(i int) *rosbag.Span {
	span := *s.Indexed.Span(i)
	for _, c := range s.Connections() {
		if !slices.ContainsFunc(span.Counts, func(n rosbag.ConnCount) bool { return n.Conn == c }) {
			span.Counts = append(slices.Clip(span.Counts), rosbag.ConnCount{Conn: c})
		}
	}
	return &span
}

// A connection that a chunk counts with zero is not in the chunk.
func TestWindowWithCountsOfZero(t *testing.T) {
	t.Parallel()
	fill := strings.Repeat("x", 4000) // ends a chunk
	outside := testplay.Conn{Topic: "/outside"}
	messages := []testplay.Message{{Conn: outside, Text: fill}}
	for i := range maxProbed + 1 { // chunks that the window cuts
		at := time.Duration(i)
		messages = append(messages, testplay.Message{Conn: testplay.ConnA, At: at}, testplay.Message{Conn: testplay.ConnB, At: time.Second + at, Text: fill})
	}
	messages = append(messages, testplay.Message{Conn: testplay.ConnB, At: 2 * time.Second, Text: fill})
	source := testplay.OpenBags(t, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: len(fill)}, messages...))[0].Source()
	p := Plan{Start: testplay.Base.Add(500 * time.Millisecond)}
	var got []string
	for c := range p.connectionsInWindow(t.Context(), listsAll{source}) {
		got = append(got, c.Topic)
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"/a", "/b"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestLeadingSlash: /a and a mean the same topic, also in regular expressions. A bag that has both is named.
func TestLeadingSlash(t *testing.T) {
	t.Parallel()
	with, without, other := testplay.Conn{Topic: "/a"}, testplay.Conn{Topic: "a"}, testplay.Conn{Topic: "/b"}
	bags := map[string][]byte{}
	for name, conns := range map[string][]testplay.Conn{"with": {with, other}, "without": {without, other}, "both": {with, without, other}} {
		var messages []testplay.Message
		for _, c := range conns {
			messages = append(messages, testplay.Series(c, "m", 0)...)
		}
		bags[name] = testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	}
	for name, bag := range bags {
		for _, named := range []string{"a", "/a"} {
			for _, isRegex := range []bool{false, true} {
				p, logs := madePlan(t, Options{Topics: []string{named}, Regex: isRegex}, bag)
				if d := cmp.Diff([]string{"/a"}, namesOf(p)); d != "" || (logs.Len() == 1) != (name == "both") {
					t.Errorf("%s, -t %s: %v (-want +got):\n%s", name, named, logs.All(), d)
				}
				p, _ = madePlan(t, Options{Exclude: []string{named}, Regex: isRegex}, bag)
				if d := cmp.Diff([]string{"/b"}, namesOf(p)); d != "" {
					t.Errorf("%s, -x %s (-want +got):\n%s", name, named, d)
				}
			}
		}
		if _, logs := madePlan(t, Options{Topics: []string{"/b"}}, bag); logs.Len() > 0 {
			t.Errorf("%s: %v", name, logs.All())
		}
	}
}
