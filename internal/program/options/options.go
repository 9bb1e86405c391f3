// Package options has the options that gorecord and goplay share: those of the node, of the web page, of
// the log and of the configuration itself.
package options

import "github.com/gorosbag/gorosbag/config"

// Common is what the shared options set.
type Common struct {
	ROS ROS
	Web Web
	Log Log

	PrintConfig bool // print all options and exit
	CheckConfig bool // check all options and exit

	file string // the configuration file
}

// Groups returns the options of the log, of the configuration, and about the program, where own are those of
// one program.
func (c *Common) Groups(own ...config.Option) []config.Group {
	version := config.Option{
		Name: "version", CommandLine: true, Value: config.Version(),
		Help: `Print the version and exit.`,
	}
	return []config.Group{c.Log.group(), c.configuration(), {Options: append(own, version)}}
}

func (c *Common) configuration() config.Group {
	return config.Group{Title: "Configuration", Options: []config.Option{
		{Name: "config", Arg: "FILE", Value: config.Text(&c.file), Help: `
			Read options from this YAML file: its keys are the long options, with _ for -. The command line takes precedence over the environment, and
			that over the file: option by option, a list as a whole.`},
		{Name: "print-config", CommandLine: true, Value: config.Switch(&c.PrintConfig), Help: `
			Print all options as YAML that --config reads, with defaults as comments, where each value comes from, and how ROS names resolve; then
			exit.`},
		{Name: "check-config", CommandLine: true, Value: config.Switch(&c.CheckConfig), Help: `
			Check all options, wherever they are set, and exit: with 0 and ok, or with 1 and one line for each error. The bags to play are checked,
			too, and so are the directory and the name of the bag to record and a directory to upload to. Nothing is recorded or played, and neither
			the ROS graph nor a store is contacted.`},
		{
			Name: "man", CommandLine: true, Value: config.Manual(),
			Help: `Print the manual page and exit; to read it: --man | man -l -.`,
		},
	}}
}
