package xmlrpc_test

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// response wraps one <value> element, or the text in its place.
func response(value string) []byte {
	return []byte("<methodResponse><params><param>" + value + "</param></params></methodResponse>")
}

func nested(depth int, inner string) string {
	return strings.Repeat("<value><array><data>", depth) + inner + strings.Repeat("</data></array></value>", depth)
}

func TestReadValues(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want any
	}{
		"int":                  {"<value><int>-7</int></value>", -7},
		"i4 as roscpp writes":  {"<value><i4>2147483647</i4></value>", math.MaxInt32},
		"int with spaces":      {"<value> <int> 5\n</int> </value>", 5},
		"i8 that fits":         {"<value><i8>12</i8></value>", 12},
		"true":                 {"<value><boolean>1</boolean></value>", true},
		"false in words":       {"<value><boolean>false</boolean></value>", false},
		"double":               {"<value><double>-1.5e3</double></value>", -1500.0},
		"infinite double":      {"<value><double>inf</double></value>", math.Inf(1)},
		"string":               {"<value><string>a b</string></value>", "a b"},
		"string keeps spaces":  {"<value><string> a\n</string></value>", " a\n"},
		"untyped string":       {"<value>/topic</value>", "/topic"},
		"untyped with spaces":  {"<value> a </value>", " a "},
		"empty untyped":        {"<value></value>", ""},
		"self-closing value":   {"<value/>", ""},
		"self-closing string":  {"<value><string/></value>", ""},
		"attributes":           {`<value a="x>y"><string b='1' >t</string ></value>`, "t"},
		"named entities":       {"<value>&lt;&gt;&amp;&apos;&quot;</value>", `<>&'"`},
		"numeric entities":     {"<value>&#228;&#x20AC;&#10;</value>", "\u00e4\u20ac\n"},
		"CDATA":                {"<value><![CDATA[<a> & ]]>b<![CDATA[c]]></value>", "<a> & bc"},
		"comment in text":      {"<value>a<!-- <x> -->b</value>", "ab"},
		"instruction in text":  {"<value>a<?x <y> ?>b</value>", "ab"},
		"base64 in two lines":  {"<value><base64>aGVs\r\n bG8=</base64></value>", []byte("hello")},
		"empty base64":         {"<value><base64/></value>", []byte{}},
		"time":                 {"<value><dateTime.iso8601>20200102T03:04:05</dateTime.iso8601></value>", time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)},
		"nil":                  {"<value><nil/></value>", nil},
		"empty array":          {"<value><array><data></data></array></value>", []any{}},
		"self-closing data":    {"<value><array><data/></array></value>", []any{}},
		"self-closing array":   {"<value><array/></value>", []any{}},
		"array without data":   {"<value><array></array></value>", []any{}},
		"mixed array":          {"<value><array><data><value><int>1</int></value> <value>x</value><value><array><data/></array></value></data></array></value>", []any{1, "x", []any{}}},
		"empty struct":         {"<value><struct></struct></value>", map[string]any{}},
		"self-closing struct":  {"<value><struct/></value>", map[string]any{}},
		"struct":               {"<value><struct><member><name>a&lt;</name><value><int>1</int></value></member>\n<member> <name/> <value/> </member></struct></value>", map[string]any{"a<": 1, "": ""}},
		"later member wins":    {"<value><struct><member><name>a</name><value>1</value></member><member><name>a</name><value>2</value></member></struct></value>", map[string]any{"a": "2"}},
		"carriage return kept": {"<value>a\r\nb</value>", "a\r\nb"},
		"as deep as allowed": {nested(16, ""), func() any {
			var v any = []any{}
			for range 15 {
				v = []any{v}
			}
			return v
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := xmlrpc.ParseResponse(response(tc.in), xmlrpc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	const head = "<methodResponse><params><param>"
	for name, tc := range map[string]struct {
		in     string
		wantAt int // -1: any
		want   error
	}{
		"empty":                {"", 0, xmlrpc.ErrMalformed},
		"not XML":              {"hello", 0, xmlrpc.ErrMalformed},
		"HTML":                 {"<html><body>404</body></html>", 0, xmlrpc.ErrMalformed},
		"document type":        {`<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>` + string(response("<value>&a;</value>")), 21, xmlrpc.ErrMalformed},
		"document type inside": {head + "<!DOCTYPE x>", len(head), xmlrpc.ErrMalformed},
		"a request":            {"<methodCall><methodName>x</methodName></methodCall>", 0, xmlrpc.ErrMalformed},
		"no value":             {"<methodResponse><params></params></methodResponse>", 16, xmlrpc.ErrMalformed},
		"two values":           {head + "<value/></param><param><value/></param></params></methodResponse>", 16, xmlrpc.ErrMalformed},
		"text after the end":   {string(response("<value/>")) + "x", 73, xmlrpc.ErrMalformed},
		"tag after the end":    {string(response("<value/>")) + "<x>", 73, xmlrpc.ErrMalformed},
		"wrong closing tag":    {head + "<value><int>1</i4></value>", len(head) + 13, xmlrpc.ErrMalformed},
		"text beside a type":   {head + "<value>x<int>1</int></value>", len(head) + 8, xmlrpc.ErrMalformed},
		"unknown type":         {head + "<value><float>1</float></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"int too wide":         {head + "<value><int>2147483648</int></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"i8 too wide":          {head + "<value><i8>99999999999999999999</i8></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"int empty":            {head + "<value><int/></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"boolean 2":            {head + "<value><boolean>2</boolean></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"double in words":      {head + "<value><double>one</double></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"bad time":             {head + "<value><dateTime.iso8601>today</dateTime.iso8601></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"bad base64":           {head + "<value><base64>a</base64></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"full nil":             {head + "<value><nil>0</nil></value>", len(head) + 7, xmlrpc.ErrMalformed},
		"unknown entity":       {head + "<value>a&auml;b</value>", len(head) + 8, xmlrpc.ErrMalformed},
		"bare ampersand":       {head + "<value>a & b</value>", len(head) + 9, xmlrpc.ErrMalformed},
		"entity for NUL":       {head + "<value>&#0;</value>", len(head) + 7, xmlrpc.ErrMalformed},
		"entity for surrogate": {head + "<value>&#xD800;</value>", len(head) + 7, xmlrpc.ErrMalformed},
		"NUL":                  {head + "<value>a\x00</value>", len(head) + 8, xmlrpc.ErrMalformed},
		"escape":               {head + "<value>\x1b[2J</value>", len(head) + 7, xmlrpc.ErrMalformed},
		"not UTF-8":            {head + "<value>a\xff</value>", len(head) + 8, xmlrpc.ErrMalformed},
		"U+FFFE":               {head + "<value>\ufffe</value>", len(head) + 7, xmlrpc.ErrMalformed},
		"comment without end":  {head + "<!-- ", len(head), xmlrpc.ErrMalformed},
		"CDATA without end":    {head + "<value><![CDATA[ ]] >", len(head) + 7, xmlrpc.ErrMalformed},
		"tag in a tag":         {head + "<value <x>", len(head) + 7, xmlrpc.ErrMalformed},
		"tag without name":     {head + "< value>", len(head), xmlrpc.ErrMalformed},
		"member without name":  {head + "<value><struct><member><value/></member></struct></value>", len(head) + 23, xmlrpc.ErrMalformed},
		"struct with a value":  {head + "<value><struct><value/></struct></value>", len(head) + 15, xmlrpc.ErrMalformed},
		"data twice":           {head + "<value><array><data/><data/></array></value>", len(head) + 21, xmlrpc.ErrMalformed},
		"fault without struct": {"<methodResponse><fault><value/></fault></methodResponse>", 23, xmlrpc.ErrMalformed},
		"too deep":             {string(response(nested(17, ""))), -1, xmlrpc.ErrLimit},
		"too deep, unfinished": {head + strings.Repeat("<value><array><data>", 40_000), -1, xmlrpc.ErrLimit},
		"deep structs":         {head + strings.Repeat("<value><struct><member><name/>", 30_000), -1, xmlrpc.ErrLimit},
		"body too large":       {strings.Repeat(" ", 1<<20+1), -1, xmlrpc.ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := xmlrpc.ParseResponse([]byte(tc.in), xmlrpc.Limits{})
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			var m *xmlrpc.MalformedError
			if errors.As(err, &m) && m.Offset != tc.wantAt {
				t.Errorf("%v: offset %d, want %d", err, m.Offset, tc.wantAt)
			}
		})
	}
}

func TestTooManyValues(t *testing.T) {
	t.Parallel()
	in := response(nested(1, strings.Repeat("<value/>", 9)))
	if _, err := xmlrpc.ParseResponse(in, xmlrpc.Limits{Values: 10}); err != nil {
		t.Error(err)
	}
	if _, err := xmlrpc.ParseResponse(in, xmlrpc.Limits{Values: 9}); !errors.Is(err, xmlrpc.ErrLimit) {
		t.Errorf("got %v, want %v", err, xmlrpc.ErrLimit)
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in     string
		method string
		args   []any
	}{
		"as roscpp writes it": {"<?xml version=\"1.0\"?>\r\n<methodCall><methodName>requestTopic</methodName>\r\n<params><param><value>/n</value></param>" +
			"<param><value><array><data><value><i4>1</i4></value></data></array></value></param></params></methodCall>\r\n", "requestTopic", []any{"/n", []any{1}}},
		"as Python writes it": {"<?xml version='1.0'?>\n<methodCall>\n<methodName>getPid</methodName>\n<params>\n<param>\n<value><string>/n</string></value>\n</param>\n</params>\n</methodCall>\n", "getPid", []any{"/n"}},
		"no params":           {"<methodCall><methodName> a </methodName></methodCall>", "a", nil},
		"empty params":        {"<methodCall><methodName>a</methodName><params/></methodCall>", "a", nil},
		"byte order mark":     {"\xef\xbb\xbf<methodCall><methodName>a</methodName><params></params></methodCall><!-- x -->", "a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, args, err := xmlrpc.ParseRequest([]byte(tc.in), xmlrpc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.args, args); d != "" || method != tc.method {
				t.Errorf("method %q, args differ: %s", method, d)
			}
		})
	}
}

func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	req, err := xmlrpc.AppendRequest(nil, "m<>", sample(), "tail")
	if err != nil {
		t.Fatal(err)
	}
	req = bytes.TrimRight(req, "\n")
	for i := range req {
		if _, _, err := xmlrpc.ParseRequest(req[:i:i], xmlrpc.Limits{}); !errors.Is(err, xmlrpc.ErrMalformed) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func sample() map[string]any {
	return map[string]any{
		"int": -5, "yes": true, "no": false, "f": 0.1, "big": 1e300, "s": "a<b>&\"c' \u20ac\r\n\t", "empty": "",
		"t": time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), "b": []byte{0, 1, 255}, "nob": []byte{},
		"l": []any{1, "two", []any{}, map[string]any{}}, "": map[string]any{"<k>": 1},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	b, err := xmlrpc.AppendResponse(nil, sample())
	if err != nil {
		t.Fatal(err)
	}
	got, err := xmlrpc.ParseResponse(b, xmlrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(any(sample()), got); d != "" {
		t.Error(d)
	}
}

// The exact bytes matter: roscpp compares tags as text.
func TestWrite(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   any
		want string
	}{
		"int":          {5, "<int>5</int>"},
		"narrow ints":  {[]any{int32(1), int64(2), uint32(3)}, "<array><data><value><int>1</int></value><value><int>2</int></value><value><int>3</int></value></data></array>"},
		"bool":         {true, "<boolean>1</boolean>"},
		"double":       {2.0, "<double>2</double>"},
		"string":       {"a'\"<&>b", "<string>a&apos;&quot;&lt;&amp;&gt;b</string>"},
		"empty string": {"", "<string></string>"},
		"base64":       {[]byte("hello"), "<base64>aGVsbG8=</base64>"},
		"time":         {time.Date(2020, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)), "<dateTime.iso8601>20200102T02:04:05</dateTime.iso8601>"},
		"empty array":  {[]any{}, "<array><data></data></array>"},
		"strings":      {[]string{"a"}, "<array><data><value><string>a</string></value></data></array>"},
		"empty struct": {map[string]any{}, "<struct></struct>"},
		"struct in order": {map[string]any{"b": 1, "a": 2}, "<struct><member><name>a</name><value><int>2</int></value></member>" +
			"<member><name>b</name><value><int>1</int></value></member></struct>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := xmlrpc.AppendResponse([]byte("|"), tc.in)
			if err != nil {
				t.Fatal(err)
			}
			want := "|<?xml version=\"1.0\"?>\n<methodResponse><params><param><value>" + tc.want + "</value></param></params></methodResponse>\n"
			if d := cmp.Diff(want, string(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCannotWrite(t *testing.T) {
	t.Parallel()
	var deep any = 1
	for range xmlrpc.MaxWriteDepth + 1 {
		deep = []any{deep}
	}
	for name, v := range map[string]any{
		"nil": nil, "wide int": int64(math.MaxInt32 + 1), "Go struct": struct{}{}, "NUL": "a\x00", "not UTF-8": []any{"\xff"},
		"member name": map[string]any{"\x01": 1}, "year": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "too deep": deep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := xmlrpc.AppendResponse(nil, v); !errors.Is(err, xmlrpc.ErrEncode) {
				t.Errorf("response: got %v, want %v", err, xmlrpc.ErrEncode)
			}
			if _, err := xmlrpc.AppendRequest(nil, "m", v); !errors.Is(err, xmlrpc.ErrEncode) {
				t.Errorf("request: got %v, want %v", err, xmlrpc.ErrEncode)
			}
		})
	}
	if _, err := xmlrpc.AppendRequest(nil, ""); !errors.Is(err, xmlrpc.ErrEncode) {
		t.Errorf("no method name: got %v, want %v", err, xmlrpc.ErrEncode)
	}
}

// A limit is exact, and no byte is written of a message that exceeds the limit. It is not parallel,
// because it counts allocations.
func TestWriteWithinLimit(t *testing.T) {
	raw, err := xmlrpc.EncodeRaw(1<<20, sample())
	if err != nil {
		t.Fatal(err)
	}
	response, _ := xmlrpc.AppendResponse(nil, sample())
	request, _ := xmlrpc.AppendRequest(nil, "m", sample(), "<&>")
	for name, tc := range map[string]struct {
		want   []byte
		encode func(limit int64) ([]byte, error)
	}{
		"response": {response, func(n int64) ([]byte, error) { return xmlrpc.EncodeResponse(n, sample()) }},
		"raw":      {response, func(n int64) ([]byte, error) { return xmlrpc.EncodeResponse(n, raw) }},
		"request":  {request, func(n int64) ([]byte, error) { return xmlrpc.EncodeRequest(n, "m", raw, "<&>") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.encode(int64(len(tc.want)))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(tc.want), string(got)); d != "" {
				t.Error(d)
			}
			if len(got) != cap(got) {
				t.Errorf("%d bytes in %d", len(got), cap(got))
			}
			for n := range int64(len(tc.want)) {
				if got, err := tc.encode(n); !errors.Is(err, xmlrpc.ErrLimit) || got != nil {
					t.Fatalf("%d bytes with a limit of %d: %v", len(got), n, err)
				}
			}
		})
	}
	big := strings.Repeat("x", 1<<20)
	for name, v := range map[string]any{"string": big, "bytes": []byte(big), "list": []any{big, big}} {
		if n := testing.AllocsPerRun(10, func() { _, _ = xmlrpc.EncodeResponse(1000, v) }); n > 10 {
			t.Errorf("%s: %v allocations for a message that is too long", name, n)
		}
	}
}

func TestFaultAlwaysGetsThrough(t *testing.T) {
	t.Parallel()
	b := xmlrpc.AppendFault(nil, &xmlrpc.Fault{Code: math.MaxInt, Text: "<x>: \x00\xff&"})
	_, err := xmlrpc.ParseResponse(b, xmlrpc.Limits{})
	var f *xmlrpc.Fault
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a fault", err)
	}
	if d := cmp.Diff(&xmlrpc.Fault{Code: math.MaxInt32, Text: "<x>: \ufffd\ufffd&"}, f); d != "" {
		t.Error(d)
	}
}

// Memory must be proportional to the input. The inputs are the ones that cost most for their size.
func TestMemoryFollowsInput(t *testing.T) {
	const size = 1 << 20
	for name, unit := range map[string]string{
		"empty values":    "<value/>",
		"short strings":   "<value>ab</value>",
		"ints":            "<value><i4>300</i4></value>",
		"empty structs":   "<value><struct/></value>",
		"one-member ones": "<value><struct><member><name/><value/></member></struct></value>",
		"members":         "",
	} {
		t.Run(name, func(t *testing.T) {
			var in []byte
			if unit == "" {
				var sb strings.Builder
				for i := 0; sb.Len() < size; i++ {
					sb.WriteString("<member><name>" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + "</name><value/></member>")
				}
				in = response("<value><struct>" + sb.String() + "</struct></value>")
			} else {
				in = response(nested(1, strings.Repeat(unit, size/len(unit))))
			}
			spent := allocated(func() {
				if _, err := xmlrpc.ParseResponse(in, xmlrpc.Limits{BodyBytes: 2 * size}); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%.1f bytes for each byte of input", float64(spent)/float64(len(in)))
			if spent > memoryBound(len(in)) {
				t.Errorf("%d bytes for an input of %d", spent, len(in))
			}
		})
	}
}

// memoryBound is the bytes that parsing n bytes may allocate in total, garbage included.
func memoryBound(n int) uint64 { return 8*uint64(n) + 1<<20 }

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
