package config

// Common holds the options of configuration itself, for programs with a configuration file.
type Common struct {
	Config      string  `group:"Configuration:" placeholder:"FILE" help:"Read options from this YAML file: its keys are the long options, with _ for -. What is set in the environment, and above all on the command line, counts more: each option for itself, a list as a whole."`
	PrintConfig bool    `group:"Configuration:" help:"Print all options and where each value comes from, as YAML that --config reads, and how ROS names resolve, and exit."`
	Man         ManFlag `group:"Configuration:" help:"Print the manual page and exit; to read it: --man | man -l -."`

	settings []Setting
	unknown  []string
}

// Settings returns all options with their effective values, in the order of the help.
func (c *Common) Settings() []Setting { return c.settings }

// Unknown returns warnings about environment variables that have the program's prefix but are
// no options.
func (c *Common) Unknown() []string { return c.unknown }

func (c *Common) keep(settings []Setting, unknown []string) {
	c.settings, c.unknown = settings, unknown
}

// keeper is a model with Common in it.
type keeper interface {
	keep(settings []Setting, unknown []string)
}

// ROS holds the variables of ROS that say where a node is. They are options, too, so
// that one file can hold all that a service needs.
type ROS struct {
	MasterURI string `group:"ROS:" name:"ros-master-uri" env:"ROS_MASTER_URI" placeholder:"URI" help:"Where the ROS master is (default http://localhost:11311). The argument __master:= counts more."`
	Hostname  string `group:"ROS:" name:"ros-hostname" env:"ROS_HOSTNAME" placeholder:"HOST" help:"The name of this machine as other nodes reach it. The argument __hostname:= counts more."`
	IP        string `group:"ROS:" name:"ros-ip" env:"ROS_IP" placeholder:"ADDR" help:"The address of this machine as other nodes reach it. ROS_HOSTNAME and the argument __ip:= count more."`
	Namespace string `group:"ROS:" name:"ros-namespace" env:"ROS_NAMESPACE" placeholder:"NAMESPACE" help:"The namespace of the node and of its relative names. The argument __ns:= counts more."`

	AllowRemoteShutdown bool `group:"ROS:" default:"true" help:"End when another node or the master asks for it, as rosnode kill and roslaunch do (default ${default}). With =false such calls are refused and logged with the address that they came from: for services that somebody else starts and stops."`
}

// Getenv returns a variable of ROS as the options have it.
func (r *ROS) Getenv(name string) string {
	return map[string]string{
		"ROS_MASTER_URI": r.MasterURI, "ROS_HOSTNAME": r.Hostname, "ROS_IP": r.IP, "ROS_NAMESPACE": r.Namespace,
	}[name]
}
