package player

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

// Several kinds of names and types, each with one message.
func selectBag(t *testing.T) []byte {
	t.Helper()
	image := testplay.Conn{Type: "sensor_msgs/Image", MD5Sum: "060021388200f6f0f447d0fcd9c64743"}
	left, right := image, image
	left.Topic, right.Topic = "/cam1/image", "/cam2/image"
	var all []testplay.Message
	for i, c := range []testplay.Conn{{Topic: "/a"}, {Topic: "/ab"}, {Topic: "/a/b"}, {Topic: "rel"}, left, right} {
		all = append(all, testplay.Series(c, "m", time.Duration(i))...)
	}
	return testplay.MakeBag(t, bagfmt.WriterOptions{}, all...)
}

func TestSelection(t *testing.T) {
	t.Parallel()
	bag := selectBag(t)
	tests := map[string]struct {
		o    Options
		want []string
		warn string
	}{
		"all":               {Options{}, []string{"/a", "/ab", "/a/b", "/rel", "/cam1/image", "/cam2/image"}, ""},
		"names":             {Options{Topics: []string{"a", "/rel"}}, []string{"/a", "/rel"}, ""},
		"glob":              {Options{Topics: []string{"/a*"}}, []string{"/a", "/ab"}, ""},
		"glob, no slash":    {Options{Topics: []string{"a*"}}, []string{"/a", "/ab"}, ""},
		"any level":         {Options{Topics: []string{"/a**"}}, []string{"/a", "/ab", "/a/b"}, ""},
		"expression":        {Options{Topics: []string{"/a.?"}, Regex: true}, []string{"/a", "/ab"}, ""},
		"expression, whole": {Options{Topics: []string{"/a"}, Regex: true}, []string{"/a"}, ""},
		"type":              {Options{Types: []string{"sensor_msgs/*"}}, []string{"/cam1/image", "/cam2/image"}, ""},
		"name and type":     {Options{Topics: []string{"/a"}, Types: []string{"sensor_msgs/Image"}}, []string{"/a", "/cam1/image", "/cam2/image"}, ""},
		"exclude":           {Options{Exclude: []string{"/cam*/image", "a**"}}, []string{"/rel"}, ""},
		"exclude is strong": {Options{Topics: []string{"/a", "/ab"}, Exclude: []string{"/ab"}}, []string{"/a"}, ""},
		"exclude by regex":  {Options{Exclude: []string{".*[ab]$", "rel"}, Regex: true}, []string{"/cam1/image", "/cam2/image"}, ""},
		"misspelled":        {Options{Topics: []string{"/a", "/typo"}}, []string{"/a"}, "[/typo]"},
		"no such type":      {Options{Topics: []string{"/a"}, Types: []string{"x/*"}}, []string{"/a"}, "[x/*]"},
		"no such exclude":   {Options{Topics: []string{"/a"}, Exclude: []string{"/typo"}}, []string{"/a"}, "[/typo]"},
		"no such rename":    {Options{Topics: []string{"/a"}, Rename: []string{"/typo=/x"}}, []string{"/a"}, "[/typo=/x]"},
		"rename":            {Options{Topics: []string{"/a", "/ab"}, Rename: []string{"a=/x"}}, []string{"/x", "/ab"}, ""},
		"rename wildcards":  {Options{Types: []string{"sensor_msgs/*"}, Rename: []string{"/cam*/image=/old/cam*"}}, []string{"/old/cam1", "/old/cam2"}, ""},
		"rename groups": {
			Options{Topics: []string{"/cam.*"}, Regex: true, Rename: []string{"/cam(.)/(.*)=/$2/$1"}},
			[]string{"/image/1", "/image/2"},
			"",
		},
		"first rename counts":   {Options{Topics: []string{"/a"}, Rename: []string{"/a=/x", "/*=/y"}}, []string{"/x"}, "[/*=/y]"},
		"rename, prefix, remap": {Options{Topics: []string{"/a"}, Rename: []string{"/a=om"}, Prefix: "/fr"}, []string{"/to"}, ""},
		"rename, then remap":    {Options{Topics: []string{"/a"}, Rename: []string{"/a=/from"}}, []string{"/to"}, ""},
		"two become one":        {Options{Topics: []string{"/a", "/ab"}, Rename: []string{"/ab=/a"}}, []string{"/a"}, ""},
		"two types, one name":   {Options{Topics: []string{"/a", "/cam1/*"}, Rename: []string{"/cam1/image=/a"}}, []string{"/a"}, "/a and /cam1/image were recorded as two: give them two names"},
		"rename a type":         {Options{Topics: []string{"/a"}, Rename: []string{"/a:std_msgs/Int32=/b", "/a:std_msgs/*=/c"}}, []string{"/c"}, "[/a:std_msgs/Int32=/b]"},
		"renamed to no name":    {Options{Topics: []string{"/a", "/ab"}, Rename: []string{"/ab=/-"}}, []string{"/a"}, `name "/-"`},
		"deny another":          {Options{Topics: []string{"/a"}, Deny: []string{"/cam**"}}, []string{"/a"}, ""},
		"deny recorded name":    {Options{Topics: []string{"/a"}, Prefix: "/old", Deny: []string{"/a"}}, []string{"/old/a"}, ""},
		"deny between":          {Options{Topics: []string{"/a"}, Rename: []string{"/a=/from"}, Deny: []string{"/from"}}, []string{"/to"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, logs := makePlan(t, tc.o, bag)
			if d := cmp.Diff(tc.want, topicNames(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var said strings.Builder
			for _, e := range logs.All() {
				fmt.Fprintln(&said, e.Message, e.ContextMap())
			}
			if got := said.String(); (got != "") != (tc.warn != "") || !strings.Contains(got, tc.warn) {
				t.Errorf("logged %q, want %q", got, tc.warn)
			}
		})
	}
}

func TestBadSelection(t *testing.T) {
	t.Parallel()
	bag := selectBag(t)
	tests := map[string]struct {
		o    Options
		want error
		text string
	}{
		"expression":    {Options{Topics: []string{"("}, Regex: true}, control.ErrOption, "option Topics expression"},
		"rename":        {Options{Rename: []string{"/a"}}, control.ErrOption, "option Rename"},
		"nothing":       {Options{Topics: []string{"/typo"}}, ErrNoMessages, ""},
		"all excluded":  {Options{Exclude: []string{"**"}}, ErrNoMessages, ""},
		"behind":        {Options{Start: time.Second}, ErrNoMessages, ""},
		"denied":        {Options{Deny: []string{"/a", "/cam*/*"}}, nil, "not to be played: /a, /cam1/image, /cam2/image."},
		"denied name":   {Options{Topics: []string{"/a"}, Rename: []string{"/a=/cmd_vel"}, Deny: []string{"cmd_vel"}}, nil, "not to be played: /cmd_vel (recorded as /a)."},
		"denied prefix": {Options{Topics: []string{"/a"}, Prefix: "/robot", Deny: []string{"/robot/**"}}, nil, "not to be played: /robot/a (recorded as /a)."},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.o.Bags, tc.o.Log = testplay.OpenBags(t, bag), zap.NewNop()
			p, err := testPlan(t.Context(), &tc.o)
			if err == nil {
				err = p.denied()
			}
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.text)
			}
			var denied *DenyError
			if tc.want == nil && !errors.As(err, &denied) {
				t.Errorf("got %T, want a *DenyError", err)
			}
		})
	}
}
