package config

import (
	"os"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// completes handles a completion request of a shell, which comes in the environment. It reports
// whether there was one.
func completes(k *kong.Kong) bool {
	if os.Getenv("COMP_LINE") == "" {
		return false
	}
	asked := false
	kongcompletion.Register(k, kongcompletion.WithExitFunc(func(int) { asked = true }))
	return asked
}
