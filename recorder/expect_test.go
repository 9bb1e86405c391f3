package recorder_test

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder"
)

// TestExpectNotSelected: of a topic that is certainly not recorded nothing is known, so nothing can be expected of it.
func TestExpectNotSelected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		selected recorder.Selection
		expect   string
		refused  bool
	}{
		"named":    {recorder.Selection{Topics: []string{"/a"}}, "/a=1", false},
		"relative": {recorder.Selection{Topics: []string{"a"}}, "/a=1", false},
		"all":      {recorder.Selection{All: true}, "/a=1", false},
		"globbed":  {recorder.Selection{Topics: []string{"/a*"}}, "/ab=1", false},
		"a glob":   {recorder.Selection{Topics: []string{"/b"}}, "/a*=1", false},
		"other":    {recorder.Selection{Topics: []string{"/b"}}, "/a=1", true},
	} {
		e, err := finding.Expect(tc.expect)
		if err != nil {
			t.Fatal(err)
		}
		err = recorder.Check(recorder.Options{Select: tc.selected, Output: recorder.Output{Prefix: t.TempDir() + "/x"}, Expect: []finding.Expectation{e}},
			func(name string) (string, error) {
				if name[0] != '/' {
					name = "/" + name
				}
				return name, nil
			})
		if refused := errors.Is(err, recorder.ErrExpectedNotSelected); refused != tc.refused || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
