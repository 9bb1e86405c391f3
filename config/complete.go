package config

import (
	"os"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// completes answers a shell that asks for completions, which it does through the
// environment, and reports whether one did.
func completes(k *kong.Kong) bool {
	if os.Getenv("COMP_LINE") == "" {
		return false
	}
	asked := false
	kongcompletion.Register(k, kongcompletion.WithExitFunc(func(int) { asked = true }))
	return asked
}
