package topicmatch_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		glob, name string
		want       bool
	}{
		{"/a", "/a", true},
		{"/a", "/ab", false},
		{"/*", "/a", true},
		{"/*", "/a/b", false},
		{"/**", "/a/b", true},
		{"/a?", "/ab", true},
		{"/a?", "/a/", false},
		{"/cam[12]/x", "/cam2/x", true},
		{"/cam[12]/x", "/cam3/x", false},
		{"/cam[^1]", "/cam2", false}, // no negation: a set holds what it shows
		{"/a[", "/a[", true},
		{"/a[0-9]", "/a7", true},
		{"/a[9-0]", "/a-", true}, // no range
		{"/a[9-0]", "/a7", false},
		{"/a[]", "/a[]", true},
		{"/\xff[\xfe-]", "/\xff-", true}, // no text at all
		{"/ü?", "/üö", true},
		{"/a.b+$", "/a.b+$", true},
		{"/a.b", "/aXb", false},
		{"sensor_msgs/*", "sensor_msgs/Image", true},
	}
	for _, tc := range tests {
		if got := topicmatch.Glob(tc.glob).Match(tc.name); got != tc.want {
			t.Errorf("%s on %s: %v, want %v", tc.glob, tc.name, got, tc.want)
		}
	}
}

func TestRegexes(t *testing.T) {
	t.Parallel()
	set, err := topicmatch.Regexes("topic regex", "/a|/b/.*", "/never")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"/a": true, "/b/c": true, "/ab": false, "a": false} {
		if got := set.Match(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if d := cmp.Diff([]string{"/never"}, set.Unmatched()); d != "" {
		t.Errorf("unmatched (-want +got):\n%s", d)
	}
	for expr, want := range map[string]string{
		"(":      `topic regex "(": missing closing )`,
		`\Q/a`:   `topic regex "\\Q/a"`,
		"(?!a).": "to leave topics out use -x",
	} {
		if _, err := topicmatch.Regexes("topic regex", expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", expr, err, want)
		}
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule, name string
		regex      bool
		want       string // empty: the rule does not match
	}{
		{"/a=/b", "/a", false, "/b"},
		{"a=/b", "/a", false, "/b"},
		{"/a=b", "a", false, "b"},
		{"/a=/b", "/ab", false, ""},
		{"/a.b=/c", "/aXb", false, ""},
		{"/cam*/image=/old/cam*/image", "/cam7/image", false, "/old/cam7/image"},
		{"/**/b=/x/**", "/p/q/b", false, "/x/p/q"},
		{"/a/*=/one", "/a/b", false, "/one"},
		{"/?/*=/*/x?", "/1/2", false, "/1/x2"}, // in order, for every kind of wildcard
		{"/$x=/$y", "/$x", false, "/$y"},
		{"/a:=/b", "/a", false, "/b"},
		{"/a=b:=/c", "/a=b", false, "/c"},
		{"/(a|b):=/c", "/b", true, "/c"},
		{"/a=/b=c", "/a", false, "/b=c"},
		{"/cam(.)/(.*)=/$2/${1}x", "/cam7/image", true, "/image/7x"},
		{"/a=/b", "a", true, "/b"}, // the same topic
		{"a=/b", "/a", true, "/b"},
		{"/(.*)=/x/$1", "a", true, "/x/a"},
		{"(.*)=/x$1", "/a", true, "/x/a"}, // as it is recorded, before the other form
		{"/a.*=/b", "/abc", true, "/b"},
		{"/a:std_msgs/String=/b", "/a", false, "/b"},
		{"/a:std_msgs/String:=/b", "/a", false, "/b"},
		{"/*:std_msgs/*=/b/*", "/a", false, "/b/a"},
		{"/a:std_msgs/Int32=/b", "/a", false, ""},
		{"/a:std_msgs/String=/b", "/ab", false, ""},
		{"/(?:a|b):std_msgs/String=/c", "/b", true, "/c"},
		{"/(?:a|b/c)=/d", "/b/c", true, "/d"},
	}
	for _, tc := range tests {
		r, err := topicmatch.ParseRename(tc.rule, tc.regex)
		if err != nil {
			t.Errorf("%s: %v", tc.rule, err)
			continue
		}
		got, ok := r.Apply(tc.name, "std_msgs/String")
		if want := tc.want != ""; ok != want || r.Used() != want || ok && got != tc.want {
			t.Errorf("%s on %s: %s, %v; want %s", tc.rule, tc.name, got, ok, tc.want)
		}
	}
	for rule, want := range map[string]string{
		"/a":          "want FROM=TO",
		"=/b":         "want FROM=TO",
		":=/b":        "want FROM=TO",
		"/a=":         "want FROM=TO",
		"/a/*=/*/**":  "TO has 2 wildcards, FROM has 1",
		"/a=/b/[12]x": "TO has 1 wildcard, FROM has 0",
	} {
		if _, err := topicmatch.ParseRename(rule, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", rule, err, want)
		}
	}
	if _, err := topicmatch.ParseRename("(=/b", true); err == nil || !strings.Contains(err.Error(), "missing closing )") {
		t.Errorf("got %v", err)
	}
}

// The recorder asks the master and each node of its own, and all of them leave out the same
// topics.
func TestConcurrentMatch(t *testing.T) {
	t.Parallel()
	s := topicmatch.Globs("/a*")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if !s.Match("/ab") {
				t.Error("no match")
			}
		})
	}
	wg.Wait()
	if got := s.Unmatched(); len(got) > 0 {
		t.Errorf("unmatched: %q", got)
	}
}

func TestGlobLike(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"/camera/*":  "-x /camera/* is a regular expression, in which * repeats the character before it: it matches /camera, /camera/ and /camera//, but nothing below /camera; for any text write .*, as in /camera/.*",
		"/cam*":      "-x /cam* is a regular expression, in which * repeats the character before it: it matches /ca, /cam and /camm; for any text write .*, as in /cam.*",
		"/cam.*/a*":  "-x /cam.*/a* is a regular expression, in which * repeats the character before it; for any text write .*, as in /cam.*/a.*",
		"/camera/.*": "", "/cam[0-9]*": "", "/(a|b)*": "", `/cam\d*`: "", `/\w*`: "", "/a": "", "*": "", "/**": "",
	} {
		if got := topicmatch.GlobLike("-x", expr); got != want {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
}
