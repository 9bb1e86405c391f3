package main

import (
	"os/exec"
	"strings"
	"testing"
)

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
}
