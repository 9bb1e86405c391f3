package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	good := readFile(t, goodBag)
	flipped := append([]byte(nil), good...)
	flipped[4400] ^= 1
	path := write(t, "a.bag", good)
	tests := map[string]struct {
		path string
		args []string
		code int
		want []string // lines on stdout, without the name of the file
	}{
		"sound":       {path, nil, 0, []string{"sound: version 2.0, 26 messages of 2 connections"}},
		"sound, deep": {path, []string{"--deep"}, 0, []string{"sound: version 2.0, 26 messages of 2 connections"}},
		"quiet":       {path, []string{"-q"}, 0, nil},
		"flipped": {write(t, "b.bag", flipped), nil, 3, []string{
			"offset 4117: chunk at 4117: lz4 data: ", "damaged in 1 place; 0 messages can be read",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag(append(append([]string{"check"}, tc.args...), tc.path)...)
			if code != tc.code || stderr != "" {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
			if stdout == "" {
				lines = nil
			}
			if len(lines) != len(tc.want) {
				t.Fatalf("stdout %q, want %q", stdout, tc.want)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(lines[i], tc.path+": "+want) {
					t.Errorf("line %q, want %q", lines[i], want)
				}
			}
		})
	}
}

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	good := readFile(t, goodBag)
	cut := write(t, "a.bag", good[:len(good)-10])
	code, stdout, stderr := gobag("check", "--json", goodBag, cut)
	if code != 3 || stderr != "" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	var sound []bool
	for line := range strings.Lines(stdout) {
		var r struct {
			Path   string
			Sound  bool
			Damage []struct {
				Offset int64
				What   string
				Advice string
				Lost   bool
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if sound = append(sound, r.Sound); r.Sound == (len(r.Damage) > 0) {
			t.Errorf("%+v", r)
		}
		for _, d := range r.Damage {
			if d.Offset <= 0 || d.What == "" || d.Advice == "" || d.Lost {
				t.Errorf("%+v", d)
			}
		}
	}
	if len(sound) != 2 || !sound[0] || sound[1] {
		t.Errorf("sound: %v", sound)
	}
}

// TestCheckNoBag has files that are no bags.
func TestCheckNoBag(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := gobag("check", write(t, "a.bag", []byte("hello\n")), goodBag)
	if code != 1 || !strings.Contains(stderr, "not a bag") || !strings.Contains(stdout, "sound") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
