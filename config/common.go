package config

// Common holds the options of configuration itself, for programs with a configuration file.
type Common struct {
	Log
	Config      string  `group:"Configuration:" placeholder:"FILE" help:"Read options from this YAML file: its keys are the long options, with _ for -. The command line takes precedence over the environment, and that over the file: option by option, a list as a whole."`
	PrintConfig bool    `group:"Configuration:" help:"Print all options and where each value comes from, as YAML that --config reads, with defaults as comments, and how ROS names resolve, and exit."`
	CheckConfig bool    `group:"Configuration:" help:"Check all options, wherever they are set, and exit: with 0 and ok, or with 1 and one line for each error. The bags to play, and the directory and the name of the bag to record, are checked, too. Nothing is recorded or played, and neither the ROS graph nor a store is contacted."`
	Man         ManFlag `group:"Configuration:" help:"Print the manual page and exit; to read it: --man | man -l -."`

	options []*option
	unknown []string
}

// Log holds the options of a program's log.
type Log struct {
	LogFormat
	LogLevel string `group:"Log:" default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Lowest level to log: debug, info, warn or error (default ${default})."`
}

// LogFormat is the option for the form of log lines and errors.
type LogFormat struct {
	Format string `name:"log-format" group:"Log:" default:"text" enum:"text,json" placeholder:"FORMAT" help:"Form of the log and of errors: text, or json, one object per line. Text has the time of day and key=value in a terminal; elsewhere the date, and values as JSON (default ${default})."`
}

// JSON reports whether lines are JSON objects.
func (l *LogFormat) JSON() bool { return l.Format == "json" }

// Settings returns all options with their effective values, in the order of the help.
func (c *Common) Settings() []Setting { return settingsOf(c.options) }

// Unknown returns warnings about environment variables that have the program's prefix but are
// no options.
func (c *Common) Unknown() []string { return c.unknown }

// Join returns the error of Parse together with what a program has found to be wrong with the
// values, in the same form: with the place where each was set. nil means that nothing is wrong.
func (c *Common) Join(err error, found ValueErrors) error {
	var errs Errors
	if err != nil {
		errs = single(err)
	}
	for _, f := range found {
		errs = append(errs, place(f, c.options))
	}
	return errs.err()
}

func (c *Common) keep(options []*option, unknown []string) {
	c.options, c.unknown = options, unknown
}

// keeper is a model with Common in it.
type keeper interface {
	keep(options []*option, unknown []string)
}

// ROS holds the variables of ROS that say where a node is. They are options, too, so
// that one file can hold all that a service needs.
type ROS struct {
	MasterURI string `group:"ROS:" name:"ros-master-uri" env:"ROS_MASTER_URI" placeholder:"URI" help:"Where the ROS master is (default http://localhost:11311). The argument __master:= takes precedence."`
	Hostname  string `group:"ROS:" name:"ros-hostname" env:"ROS_HOSTNAME" placeholder:"HOST" help:"The name of this machine as other nodes reach it. The argument __hostname:= takes precedence."`
	IP        string `group:"ROS:" name:"ros-ip" env:"ROS_IP" placeholder:"ADDR" help:"The address of this machine as other nodes reach it. ROS_HOSTNAME and the argument __ip:= take precedence."`
	Namespace string `group:"ROS:" name:"ros-namespace" env:"ROS_NAMESPACE" placeholder:"NAMESPACE" help:"The namespace of the node and of its relative names. The argument __ns:= takes precedence."`

	NoRosout bool `group:"ROS:" help:"Do not publish lines of the log of level info and above on the topic /rosout, where rqt_console and others read the logs of all nodes."`

	AllowRemoteShutdown bool `group:"ROS:" default:"true" help:"End when another node or the master asks for it, as rosnode kill and roslaunch do (default ${default}). With =false such calls are refused and logged with the address that they came from: for programs that a service manager starts and stops."`
}

// Getenv returns a variable of ROS as the options have it.
func (r *ROS) Getenv(name string) string {
	return map[string]string{
		"ROS_MASTER_URI": r.MasterURI, "ROS_HOSTNAME": r.Hostname, "ROS_IP": r.IP, "ROS_NAMESPACE": r.Namespace,
	}[name]
}
