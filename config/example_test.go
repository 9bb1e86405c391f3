package config_test

import (
	"fmt"
	"strconv"

	"github.com/gorosbag/gorosbag/config"
)

// A program with two options, which come from the command line, the environment (GOHELLO_TIMES) or a file.
func ExampleProgram() {
	var name string
	var times int
	p := config.Program{Name: "gohello", Groups: []config.Group{{Options: []config.Option{
		{Name: "name", Default: "world", Arg: "NAME", Help: "Whom to greet.", Value: config.Text(&name)},
		{Name: "times", Short: "n", Default: "1", Arg: "N", Help: "How often.", Value: config.To(&times, strconv.Atoi)},
	}}}}
	if _, err := p.Parse([]string{"-n", "2"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(name, times)
	// Output: world 2
}
