package options

import "github.com/gorosbag/gorosbag/config"

// Log is what the options of a program's log set. gomaster and gobag have them by the tags.
type Log struct {
	LogFormat
	LogLevel string `group:"Log:" default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Lowest level to log: debug, info, warn or error (default ${default})."`
}

// LogFormat is what the option for the form of log lines and errors sets.
type LogFormat struct {
	Format string `name:"log-format" group:"Log:" default:"text" enum:"text,json" placeholder:"FORMAT" help:"Form of the log, of errors, and of the summary of gorecord: text, or json, one object per line. Text has the time of day and key=value in a terminal; elsewhere the date, and values as JSON (default ${default})."`
}

// JSON reports whether lines are JSON objects.
func (l *LogFormat) JSON() bool { return l.Format == "json" }

func (l *Log) group() config.Group {
	return config.Group{Title: "Log", Options: []config.Option{
		{
			Name: "log-format", Arg: "FORMAT", Default: "text", Help: config.HelpOf[LogFormat]("Format"),
			Value: config.OneOf(&l.Format, "text|json", "text", "json"),
		},
		{
			Name: "log-level", Arg: "LEVEL", Default: "info", Help: config.HelpOf[Log]("LogLevel"),
			Value: config.OneOf(&l.LogLevel, "debug|info|warn|error", "debug", "info", "warn", "error"),
		},
	}}
}
