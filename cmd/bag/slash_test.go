package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLeadingSlash: /chatter and chatter mean the same topic wherever a topic is named, however it is recorded.
func TestLeadingSlash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, recorded := range []string{"chatter", "/chatter"} {
		in := filepath.Join(dir, fmt.Sprint("recorded", len(recorded)), "in.bag")
		makeBag(t, in, time.Unix(100, 0), []string{recorded, "/other"})
		for _, named := range []string{"chatter", "/chatter"} {
			for command, want := range map[string]map[string]uint64{
				"convert -t NAMED IN OUT":                      {recorded: 1},
				"convert -x NAMED IN OUT":                      {"/other": 1},
				"convert -e -t (NAMED|/never) IN OUT":          {recorded: 1},
				"convert -e -x NAMED IN OUT":                   {"/other": 1},
				"convert -t NAMED --rename NAMED=/x IN OUT":    {"/x": 1},
				"convert -e -t NAMED --rename NAMED=/x IN OUT": {"/x": 1},
				`convert --expr topic=="NAMED" IN OUT`:         {recorded: 1},
				`filter IN OUT topic=="NAMED"`:                 {recorded: 1},
				`filter IN OUT topic!="NAMED"`:                 {"/other": 1},
				`filter IN OUT "NAMED"==topic`:                 {recorded: 1},
				`filter IN OUT "/other"!=topic`:                {recorded: 1},
				`filter IN OUT (topic)in["NAMED"]`:             {recorded: 1},
			} {
				out := filepath.Join(t.TempDir(), "out.bag")
				args := strings.Fields(strings.NewReplacer("NAMED", named, "IN", in, "OUT", out).Replace(command))
				if code, _, stderr := gobag(args...); code != 0 || strings.Contains(stderr, "nothing there") || fmt.Sprint(counts(t, out)) != fmt.Sprint(want) {
					t.Errorf("%s, recorded as %s: code %d, %v, want %v\n%s", args, recorded, code, counts(t, out), want, stderr)
				}
			}
			for _, command := range []string{
				"echo IN /NAMED -n 1", "echo -e IN -t NAMED", `echo IN --expr topic=="NAMED"`, "echo IN -t NAMED/data",
				`find topic=="NAMED" IN/..`, `find ("NAMED")in(topics) IN/..`, `find any(topics,#=="NAMED") IN/..`, `find any(topics,(#)in["NAMED"]) IN/..`,
				`find any(topics,"NAMED"==#) IN/..`, "diff -t NAMED IN IN",
			} {
				args := strings.Fields(strings.NewReplacer("/NAMED", "/"+strings.TrimPrefix(named, "/"), "NAMED", named, "IN/..", filepath.Dir(in), "IN", in).Replace(command))
				if code, stdout, stderr := gobag(args...); code != 0 || stdout == "" {
					t.Errorf("%s, recorded as %s: code %d\n%s%s", args, recorded, code, stdout, stderr)
				}
			}
		}
	}
}

// TestBothForms: a bag that has a topic with a leading slash and without is named to those who name the topic.
func TestBothForms(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in.bag")
	makeBag(t, in, time.Unix(100, 0), []string{"chatter", "/chatter", "/other"})
	for command, told := range map[string]bool{
		"convert -t chatter IN OUT":             true,
		"convert -x /chatter IN OUT":            true,
		"convert -t /other IN OUT":              false,
		"convert IN OUT":                        false,
		`filter IN OUT topic=="/chatter"`:       true,
		`filter IN OUT topic=="/other"`:         false,
		"echo IN /chatter":                      true,
		"echo IN":                               false,
		`echo IN --expr topic=="chatter"`:       true,
		"diff -t chatter IN IN":                 true,
		"diff IN IN":                            false,
		`find topic=="chatter" IN/..`:           true,
		`find topic=="/other" IN/..`:            false,
		"convert -t chatter IN DIR/x --to ros2": true,
	} {
		dir := t.TempDir()
		args := strings.Fields(strings.NewReplacer("IN/..", filepath.Dir(in), "IN", in, "OUT", filepath.Join(dir, "out.bag"), "DIR", dir).Replace(command))
		code, _, stderr := gobag(args...)
		if has := strings.Contains(stderr, "has both /chatter and chatter, which mean the same topic"); code != 0 || has != told {
			t.Errorf("%s: code %d, told %v, want %v\n%s", args, code, has, told, stderr)
		}
	}
}
