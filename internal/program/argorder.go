package program

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// FlagsFirst moves a command's flags before its arguments. For kong, a list of arguments ends at the
// first flag, but people write gobag echo a.bag -p /tf.
func FlagsFirst(root *kong.Node, args []string) []string {
	if len(args) == 0 {
		return args
	}
	at := slices.IndexFunc(root.Children, func(n *kong.Node) bool { return n.Name == args[0] })
	if at < 0 {
		return args
	}
	valued := make(map[string]bool)
	for _, group := range root.Children[at].AllFlags(false) {
		for _, f := range group {
			takes := !f.IsBool() && !f.IsCounter()
			valued["-"+string(f.Short)] = takes
			for _, name := range append([]string{f.Name}, f.Aliases...) {
				valued["--"+name] = takes
			}
		}
	}
	flags, words := []string{args[0]}, []string(nil)
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return slices.Concat(flags, []string{"--"}, words, args[i+1:])
		case len(arg) < 2 || arg[0] != '-':
			words = append(words, arg)
		default:
			wants := wantsNext(arg, valued)
			if wants && i+1 == len(args) {
				// a flag without its value goes last: otherwise a bag would become the value
				words = append(words, arg)
				break
			}
			flags = append(flags, arg)
			if wants {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	return append(flags, words...)
}

// wantsNext reports whether the value of a flag is the next argument.
func wantsNext(arg string, valued map[string]bool) bool {
	if strings.HasPrefix(arg, "--") {
		return valued[arg]
	}
	for i, short := range arg[1:] {
		if valued["-"+string(short)] {
			return i+len(string(short)) == len(arg)-1 // otherwise the rest is the value
		}
	}
	return false
}

// HelpCommand turns "help convert" into "convert --help".
func HelpCommand(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(args[1:len(args):len(args)], "--help")
	}
	return args
}

// TextsAsTheyAre is an option of kong, which otherwise converts texts by way of JSON: that replaces bytes
// that are not UTF-8, which names of files may have. A flag without a value at the end of the arguments
// is an error.
func TextsAsTheyAre() kong.Option {
	return kong.KindMapper(reflect.String,
		kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			t, err := ctx.Scan.PopValue("string")
			if err != nil {
				return err
			}
			text, ok := t.Value.(string)
			if !ok { // the end of the arguments
				return errors.New("missing value")
			}
			target.SetString(text)
			return nil
		}))
}
