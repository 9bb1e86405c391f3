package config

import "github.com/alecthomas/kong"

// Parse fills model from a command line (without the program's name) and from the
// environment. An error is a usage error: one line that names the option.
func Parse(program, help, version string, args []string, model any, multitoken ...string) error {
	k, err := kong.New(model, kong.Name(program), kong.Description(help), kong.UsageOnError(),
		kong.Vars{"version": version, "master": DefaultMasterAddress})
	if err != nil {
		return err
	}
	expanded, err := Expand(args, k, multitoken...)
	if err != nil {
		return err
	}
	_, err = k.Parse(expanded)
	return err
}
