package xmlrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

const longText = 20 << 20

// hole is a reader of the same byte again and again.
type hole struct{}

func (hole) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// around reads head, a long text, and tail.
func around(head, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(hole{}, longText), strings.NewReader(tail))
}

// TestReadBodySkips: of a message with a text of any length, the rest is read, and the text uses no
// memory.
func TestReadBodySkips(t *testing.T) {
	const open, end = "<methodResponse><params><param>", "</param></params></methodResponse>"
	limits := xmlrpc.Limits{BodyBytes: 2 << 20, TextBytes: 8 << 10}
	gone := xmlrpc.Skipped{Bytes: longText}
	tests := map[string]struct {
		head, tail string
		want       any
	}{
		"string":  {"<value><array><data><value>a</value><value><string>", "</string></value><value>b</value></data></array></value>", []any{"a", gone, "b"}},
		"no type": {"<value><array><data><value>", "</value><value><int>1</int></value></data></array></value>", []any{gone, 1}},
		"bytes":   {"<value><base64>", "</base64></value>", gone},
		"number":  {"<value><array><data><value><i4>", "</i4></value></data></array></value>", []any{gone}},
		"member": {
			"<value><struct><member><name>a</name><value><string>", "</string></value></member><member><name>b</name><value>c</value></member></struct></value>",
			map[string]any{"a": gone, "b": "c"},
		},
		"name of a member": {
			"<value><struct><member><name>", "</name><value>a</value></member><member><name>b</name><value>c</value></member></struct></value>",
			map[string]any{"b": "c"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, shift := range []int{0, 1, 4000, 8<<10 - 1, 40 << 10} { // of the blocks that are read
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				body, skipped, err := xmlrpc.ReadBody(nil, around(strings.Repeat(" ", shift)+open+tc.head, tc.tail+end), limits)
				runtime.ReadMemStats(&after)
				if err != nil || skipped != 1 {
					t.Fatalf("%d skipped, %v", skipped, err)
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
					t.Errorf("%d bytes allocated", n)
				}
				got, err := xmlrpc.ParseResponse(body, limits)
				if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			}
		})
	}
	text, err := json.Marshal(gone)
	if err != nil || string(text) != `"20971520 bytes, not read"` {
		t.Errorf("%s, %v", text, err)
	}
}

// TestReadBodyKeeps: texts within the limit are not skipped, and messages are unchanged.
func TestReadBodyKeeps(t *testing.T) {
	limits := xmlrpc.Limits{BodyBytes: 4 << 20, TextBytes: 1000}
	var list []any
	for i := range 5000 {
		list = append(list, fmt.Sprint("/topic", i), strings.Repeat("<", i%240)) // four bytes for each <
	}
	want, err := xmlrpc.AppendResponse(nil, list)
	if err != nil {
		t.Fatal(err)
	}
	body, skipped, err := xmlrpc.ReadBody(make([]byte, 5, 100), bytes.NewReader(want), limits)
	if err != nil || skipped != 0 || !bytes.Equal(body, want) {
		t.Errorf("%d skipped, %v, the body is the same: %v", skipped, err, bytes.Equal(body, want))
	}
}

// TestReadBodyLimits: a message is refused if nothing in it can be skipped.
func TestReadBodyLimits(t *testing.T) {
	limits := xmlrpc.Limits{BodyBytes: 1 << 20, TextBytes: 1000}
	for name, r := range map[string]io.Reader{
		"a tag":           around("<value a='", "'/>"),
		"no end":          io.MultiReader(strings.NewReader("<value>"), hole{}),
		"many short ones": strings.NewReader(strings.Repeat("<value>a</value>", 1<<17)),
	} {
		if _, _, err := xmlrpc.ReadBody(nil, r, limits); !errors.Is(err, xmlrpc.ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("<value>"), iotestErr{})
	if _, _, err := xmlrpc.ReadBody(nil, broken, limits); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a broken connection: %v", err)
	}
	// A mark that a peer sent has no effect when no text is skipped.
	if _, err := xmlrpc.ParseResponse([]byte("<methodResponse><params><param><value>\x001</value></param></params></methodResponse>"), xmlrpc.Limits{}); !errors.Is(err, xmlrpc.ErrMalformed) {
		t.Errorf("a mark: %v", err)
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzReadBody(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		body, skipped, err := xmlrpc.ReadBody(nil, bytes.NewReader(in), xmlrpc.Limits{})
		if err != nil || skipped != 0 || !bytes.Equal(body, in) {
			t.Fatalf("%d skipped, %v", skipped, err)
		}
		limits := xmlrpc.Limits{TextBytes: 4}
		if body, skipped, err = xmlrpc.ReadBody(nil, bytes.NewReader(in), limits); err != nil {
			t.Fatal(err)
		}
		if _, err = xmlrpc.ParseResponse(body, limits); err != nil {
			checkError(t, err)
		}
		if skipped == 0 && !bytes.Equal(body, in) {
			t.Error("nothing was skipped, but the body is another")
		}
	})
}

// TestReadBodyIsCut: a connection that ends within a message is distinguished from the end of the
// message.
func TestReadBodyIsCut(t *testing.T) {
	t.Parallel()
	part := strings.NewReader("<methodResponse><params>")
	cut := iotest.ErrReader(io.ErrUnexpectedEOF)
	if _, _, err := xmlrpc.ReadBody(nil, io.MultiReader(part, cut), xmlrpc.Limits{TextBytes: 8 << 10}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}
