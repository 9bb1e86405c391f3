package recorder_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder"
)

// TestExpectedGlobs: a glob is about names in the graph, as everywhere: also where the user has named a topic in another way,
// which is its name in the bag then. A relative glob looks in the namespace of the node, as one of the selection does.
func TestExpectedGlobs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		topics  []string // by name; all topics if there are none
		expect  string
		matches string // names in the bag, of those below
	}{
		{[]string{"chatter", "other"}, "/robot/chat*=1", "chatter /robot/chatter"},
		{[]string{"chatter", "/robot/chatter"}, "chat*=1", "chatter /robot/chatter"},
		{[]string{"/chatter"}, "/chat*=1", "/chatter"},
		{[]string{"/chatter", "chatter"}, "/chat*=1", "/chatter"},
		{[]string{"chatter"}, "/r*/*=1", "chatter /robot/chatter"},
		{nil, "chat*=1", "/robot/chatter"},
		{nil, "**/chatter=1", "/chatter /robot/chatter"},
	} {
		e, err := finding.Expect(tc.expect)
		if err != nil {
			t.Fatal(err)
		}
		got, err := recorder.Expectations(recorder.Options{
			Select: recorder.Selection{Topics: tc.topics, All: tc.topics == nil}, Output: recorder.Output{Prefix: t.TempDir() + "/x"}, Expect: []finding.Expectation{e},
		}, func(name string) (string, error) {
			if name[0] != '/' {
				name = "/robot/" + name
			}
			return name, nil
		})
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v (%v)", tc.expect, got, err)
		}
		var matches []string
		for _, name := range []string{"chatter", "/chatter", "/robot/chatter"} {
			if got[0].Matches(name) {
				matches = append(matches, name)
			}
		}
		if all := strings.Join(matches, " "); all != tc.matches {
			t.Errorf("%s of %v is about %q, want %q", tc.expect, tc.topics, all, tc.matches)
		}
	}
}

// TestExpectations: an expectation has the name that the topic has in the bag. Of a topic that is certainly not recorded
// nothing is known, so nothing can be expected of it.
func TestExpectations(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		selected recorder.Selection
		expect   string
		want     string // the topic in the bag; empty if the expectation is refused
	}{
		"named":    {recorder.Selection{Topics: []string{"/a"}}, "/a=1", "/a"},
		"relative": {recorder.Selection{Topics: []string{"a"}}, "/a=1", "a"},
		"all":      {recorder.Selection{All: true}, "/a=1", "/a"},
		"globbed":  {recorder.Selection{Topics: []string{"/a*"}}, "/ab=1", "/ab"},
		"a glob":   {recorder.Selection{Topics: []string{"/b"}}, "/a*=1", "/a*"},
		"other":    {recorder.Selection{Topics: []string{"/b"}}, "/a=1", ""},
	} {
		e, err := finding.Expect(tc.expect)
		if err != nil {
			t.Fatal(err)
		}
		got, err := recorder.Expectations(recorder.Options{Select: tc.selected, Output: recorder.Output{Prefix: t.TempDir() + "/x"}, Expect: []finding.Expectation{e}},
			func(name string) (string, error) {
				if name[0] != '/' {
					name = "/" + name
				}
				return name, nil
			})
		switch {
		case tc.want == "" && errors.Is(err, recorder.ErrExpectedNotSelected):
		case err != nil || len(got) != 1 || got[0].Topics != tc.want:
			t.Errorf("%s: of %v (%v), want %q", name, got, err, tc.want)
		}
	}
}
