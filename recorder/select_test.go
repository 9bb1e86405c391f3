package recorder

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	topics := []string{"/chatter", "/chat", "/rosout", "/rosout_agg", "/a/b"}
	tests := map[string]struct {
		sel     Selection
		literal []topicname.InBag
		found   []string
	}{
		"all":             {Selection{All: true}, nil, topics},
		"all but":         {Selection{All: true, Exclude: []string{"/ros(.*)"}}, nil, []string{"/chatter", "/chat", "/a/b"}},
		"exclude is full": {Selection{All: true, Exclude: []string{"ros"}}, nil, topics},
		"two excludes":    {Selection{All: true, Exclude: []string{"/ros.*", "/a/.*"}}, nil, []string{"/chatter", "/chat"}},
		"regex is full":   {Selection{Regex: true, Topics: []string{"/chat"}}, nil, []string{"/chat"}},
		"regex":           {Selection{Regex: true, Topics: []string{"/chat.*", "/a/."}}, nil, []string{"/chatter", "/chat", "/a/b"}},
		"alternatives":    {Selection{Regex: true, Topics: []string{"/chat|/a/b"}}, nil, []string{"/chat", "/a/b"}},
		"glob":            {Selection{Topics: []string{"/chat*"}}, nil, []string{"/chatter", "/chat"}},
		"star in a level": {Selection{Topics: []string{"/*"}}, nil, topics[:4]},
		"any level":       {Selection{Topics: []string{"/**"}, Exclude: []string{"/ros.*"}}, nil, []string{"/chatter", "/chat", "/a/b"}},
		"one character":   {Selection{Topics: []string{"/?/[bc]"}}, nil, []string{"/a/b"}},
		"relative glob":   {Selection{Topics: []string{"chat*"}}, nil, nil},
		"type":            {Selection{Types: []string{"pkg/A", "pkg/X"}}, nil, []string{"/a/b"}},
		"type glob":       {Selection{Types: []string{"pkg/*"}, Exclude: []string{"/r.*"}}, nil, []string{"/chatter", "/chat", "/a/b"}},
		"name and glob":   {Selection{Topics: []string{"chat", "/a/*"}}, []topicname.InBag{"chat"}, []string{"/a/b"}},
		"by name":         {Selection{Topics: []string{"/chat"}, Exclude: []string{".*"}}, []topicname.InBag{"/chat"}, nil},
		"by name and all": {Selection{Topics: []string{"chat"}, All: true}, []topicname.InBag{"chat"}, topics},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.sel.compile("/ns/"); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(tc.sel.literal, tc.literal) {
				t.Errorf("literal %v, want %v", tc.sel.literal, tc.literal)
			}
			var found []string
			for _, topic := range topics {
				if tc.sel.polls() && tc.sel.selects(topic, "pkg/"+strings.ToUpper(topic[1:2])) {
					found = append(found, topic)
				}
			}
			if !slices.Equal(found, tc.found) {
				t.Errorf("selected %v, want %v", found, tc.found)
			}
		})
	}
}

func TestBadSelection(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sel  Selection
		want string
	}{
		"nothing":     {Selection{}, "no topics specified"},
		"bad topic":   {Selection{Regex: true, Topics: []string{"/a", "("}}, `topic regex "(": missing closing )`},
		"open quote":  {Selection{Regex: true, Topics: []string{`\Q/chat`}}, `topic regex`},
		"bad exclude": {Selection{All: true, Exclude: []string{"*"}}, `exclude regex "*"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.sel.compile("/ns/"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestUnmatched(t *testing.T) {
	t.Parallel()
	sel := Selection{Topics: []string{"/a*", "/b*"}, Types: []string{"x/Y", "x/Z"}, All: true}
	if err := sel.compile("/"); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"/a1", "/c"} {
		sel.selects(topic, "x/Z")
	}
	if got := sel.unmatched(); !slices.Equal(got, []string{"/b*", "x/Y"}) {
		t.Errorf("unmatched: %q", got)
	}
}

// watching is a watcher of some topics.
type watching []topicname.InGraph

func (w watching) Topics() []topicname.InGraph                               { return w }
func (w watching) Open(topicname.InGraph, rosbag.Header) control.LinkWatcher { return nil }
func (w watching) Triggers() []control.TriggerStats                          { return nil }

// TestWatchedTopicsAreSelected: a topic to watch that is certainly not recorded is an error. Asking
// does not make a glob count as matched.
func TestWatchedTopicsAreSelected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		selection Selection
		fails     bool
	}{
		"all":                 {Selection{All: true}, false},
		"all but it":          {Selection{All: true, Exclude: []string{"/w.*"}}, true},
		"a glob":              {Selection{Topics: []string{"/wat*"}}, false},
		"another glob":        {Selection{Topics: []string{"/x*"}}, true},
		"an expression":       {Selection{Topics: []string{"/wa.*"}, Regex: true}, false},
		"another expression":  {Selection{Topics: []string{"/x.*"}, Regex: true}, true},
		"perhaps by type":     {Selection{Types: []string{"std_msgs/*"}}, false},
		"by type, but it":     {Selection{Types: []string{"std_msgs/*"}, Exclude: []string{"/watched"}}, true},
		"perhaps of a node":   {Selection{Nodes: []string{"/n"}}, false},
		"of a node, but it":   {Selection{Nodes: []string{"/n"}, Exclude: []string{"/watched"}}, true},
		"perhaps from a node": {Selection{NodePublications: []string{"/n"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{resolve: func(name string) (string, error) { return name, nil }, Select: test.selection, Watch: watching{"/watched"}}
			o, err := o.withDefaults()
			if errors.Is(err, ErrNotSelected) != test.fails || !test.fails && err != nil {
				t.Errorf("error %v", err)
			}
			if n := len(o.Select.unmatched()); n != len(o.Select.include)+len(o.Select.types) {
				t.Errorf("%d patterns count as not matched", n)
			}
		})
	}
}
