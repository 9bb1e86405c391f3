package stage

import (
	"slices"
	"strings"
	"testing"
)

// linkedTo is a publication that these nodes read.
type linkedTo struct {
	Publication
	nodes []string
}

func (p linkedTo) Linked(node string) bool { return slices.Contains(p.nodes, node) }

// TestWithoutLink: a topic that is not played does not hide those behind it.
func TestWithoutLink(t *testing.T) {
	t.Parallel()
	pub := linkedTo{nodes: []string{"/linked"}}
	got := withoutLink(map[string]Publication{"/b": pub, "/c": pub}, []LiveTopic{
		{Name: "/a", Subscribers: []string{"/x"}},
		{Name: "/b", Subscribers: []string{"/linked", "/y"}},
		{Name: "/c", Subscribers: []string{"/linked"}},
	})
	if len(got) != 1 || got[0].Name != "/b" || !slices.Equal(got[0].Subscribers, []string{"/y"}) {
		t.Errorf("got %+v, want /b with /y", got)
	}
}

// An error that names many topics stays readable.
func TestWaitErrorIsShort(t *testing.T) {
	t.Parallel()
	err := &WaitError{Topics: strings.Fields(strings.Repeat("/x ", 200))}
	if text := err.Error(); !strings.HasSuffix(text, "/x, /x, and 192 more") {
		t.Errorf("got %q", text)
	}
}
