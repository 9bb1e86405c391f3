package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestCompletion asks as shells do, through the environment.
func TestCompletion(t *testing.T) {
	tests := map[string]struct {
		want []string
		not  []string
	}{
		"gobag ":            {[]string{"info", "filter", "convert", "completion"}, []string{"--topic"}},
		"gobag fil":         {[]string{"filter"}, []string{"info"}},
		"gobag decr":        {[]string{"decrypt"}, []string{"decompress"}},
		"gobag filter --to": {[]string{"--topic"}, []string{"--type"}},
		"gobag filter " + goodBag + " o.bag --topic ":    {[]string{"/count", "/latched"}, nil},
		"gobag filter " + goodBag + " o.bag --topic /c":  {[]string{"/count"}, []string{"/latched"}},
		"gobag filter " + goodBag + " o.bag --type ":     {[]string{"std_msgs/Int32", "std_msgs/String"}, nil},
		"gobag info ../../bagfmt/testdata/cpp":           {[]string{goodBag}, []string{"../../bagfmt/testdata/cpp_lz4.txt"}},
		"gobag diff ../../bagfmt/testdata/cpp":           {[]string{goodBag}, nil},
		"gobag diff " + goodBag + " o.bag --topic ":      {[]string{"/count", "/latched"}, nil},
		"gobag diff a.bag b.bag --by ":                   {[]string{"order", "header"}, nil},
		"gobag convert a.bag b.bag --compression ":       {[]string{"lz4", "bz2", "none", "zstd"}, nil},
		"gobag filter missing.bag o.bag --topic ":        {nil, []string{"/count"}},
		"gobag compress --output-dir ../../bagfmt/testd": {[]string{"../../bagfmt/testdata/"}, nil},
	}
	for line, tc := range tests {
		t.Run(line, func(t *testing.T) {
			t.Setenv("COMP_LINE", line)
			code, stdout, stderr := gobag()
			got := strings.Fields(stdout)
			if code != 0 || stderr != "" {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			for _, w := range tc.want {
				if !slices.Contains(got, w) {
					t.Errorf("no %q in %q", w, got)
				}
			}
			for _, n := range tc.not {
				if slices.Contains(got, n) {
					t.Errorf("%q in %q", n, got)
				}
			}
		})
	}
}

// TestCompletionScripts lets the shells that are installed read their scripts.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag("completion", shell)
			if code != 0 || stderr != "" || !strings.Contains(stdout, "gobag") {
				t.Fatalf("code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not installed")
			}
			if shell == "zsh" { // has no completion before this
				stdout = "autoload -Uz compinit && compinit -D -u\n" + stdout
			}
			if out, err := exec.CommandContext(t.Context(), path, "-c", stdout).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	if code, _, stderr := gobag("completion", "csh"); code != 1 || !strings.Contains(stderr, "bash") {
		t.Errorf("code %d, %s", code, stderr)
	}
}
