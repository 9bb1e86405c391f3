package recorder

import (
	"slices"
	"strings"
	"testing"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	topics := []string{"/chatter", "/chat", "/rosout", "/rosout_agg", "/a/b"}
	tests := map[string]struct {
		sel     Selection
		literal []string
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
		"name and glob":   {Selection{Topics: []string{"chat", "/a/*"}}, []string{"chat"}, []string{"/a/b"}},
		"by name":         {Selection{Topics: []string{"/chat"}, Exclude: []string{".*"}}, []string{"/chat"}, nil},
		"by name and all": {Selection{Topics: []string{"chat"}, All: true}, []string{"chat"}, topics},
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
