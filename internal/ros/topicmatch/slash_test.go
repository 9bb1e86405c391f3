package topicmatch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
)

func TestRooted(t *testing.T) {
	t.Parallel()
	for topic, want := range map[string]string{"/a": "/a", "a": "/a", "a/b": "/a/b", "": "/", "/": "/", "//a": "//a"} {
		if got := topicmatch.Rooted(topic); got != want {
			t.Errorf("%q: %q, want %q", topic, got, want)
		}
	}
}

// TestMatchTopic: the leading slash is optional on either side, and a pattern that matches either form is used.
func TestMatchTopic(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{"/a": true, "a": true, "*": true, "/**": true, "/*": true, "b": false, "//a": false} {
		for _, topic := range []string{"a", "/a"} {
			set := topicmatch.Globs(pattern)
			if got := topicmatch.MatchTopic(topic, set.Match); got != want || len(set.Unmatched()) == 0 != want {
				t.Errorf("%s on %s: %v, want %v, unmatched %q", pattern, topic, got, want, set.Unmatched())
			}
		}
	}
	set := topicmatch.Globs("/a", "a")
	if !topicmatch.MatchTopic("/a", set.Match) || set.Unmatched() != nil {
		t.Errorf("unmatched %q", set.Unmatched())
	}
}

func TestBothForms(t *testing.T) {
	t.Parallel()
	got := topicmatch.BothForms([]string{"b", "/a", "a", "/c", "a", "d/e", "/d/e"})
	if d := cmp.Diff([]string{"/a", "/d/e"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
