package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// Parse fills model from a command line (without the program's name) and from the
// environment. An error is a usage error: one line that names the option.
func Parse(program, help, version string, args []string, model any, multitoken ...string) error {
	prefix := strings.ToUpper(program) + "_"
	help += "\n\nOptions may also be set in the environment: --an-option as " + prefix + "AN_OPTION."
	k, err := kong.New(model, kong.Name(program), kong.Description(help), kong.UsageOnError(),
		kong.ValueFormatter(func(v *kong.Value) string { return v.Help }), // without the variable: the sentence above says it for all
		kong.Vars{"version": version, "master": DefaultMasterAddress},
		kong.KindMapper(reflect.Int, kong.MapperFunc(decimal)), kong.KindMapper(reflect.Int64, kong.MapperFunc(decimal)))
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

// decimal reads integers as stock does: 010 is ten, and 0x10 is none.
func decimal(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, target.Type().Bits())
	if err != nil {
		return fmt.Errorf("%q: want a whole number", text)
	}
	target.SetInt(n)
	return nil
}
