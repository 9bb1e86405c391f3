package recorder_test

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder"
)

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
